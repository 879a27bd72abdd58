# Installation: libraries, headers, find_package, pkg-config, Debian packages. The components are the
# packages: `runtime` (the shared library), `devel` (what programs are built with), `tools`, `server` (outlastd).

include(CMakePackageConfigHelpers)

# outlast_install_packed(<file> <name> <folder> <component>) installs a file as <name>.gz, as manuals and
# changelogs are; as it is where there is no gzip.
find_program(OUTLAST_GZIP gzip)
mark_as_advanced(OUTLAST_GZIP)
function(outlast_install_packed file name folder component)
  if(NOT OUTLAST_GZIP)
    install(FILES ${file} DESTINATION ${folder} RENAME ${name} COMPONENT ${component})
    return()
  endif()
  set(packed ${PROJECT_BINARY_DIR}/packed/${name}.gz)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/packed)
  execute_process(COMMAND ${OUTLAST_GZIP} -9nc ${PROJECT_SOURCE_DIR}/${file} OUTPUT_FILE ${packed}
                  COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  install(FILES ${packed} DESTINATION ${folder} COMPONENT ${component})
endfunction()

set(outlast_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(outlast_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/outlast)
set(outlast_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(outlast_libraries outlast_library)
set(outlast_pc_files outlast)
if(TARGET outlast_verify)
  list(APPEND outlast_libraries outlast_verify)
  list(APPEND outlast_pc_files outlast_verify)
endif()
if(TARGET outlast_server)
  list(APPEND outlast_libraries outlast_server)
  list(APPEND outlast_pc_files outlast_server)
endif()
if(TARGET outlast_leveldb)
  list(APPEND outlast_libraries outlast_leveldb)
  list(APPEND outlast_pc_files outlast_leveldb)
endif()
foreach(library IN LISTS outlast_libraries)
  get_target_property(header_sets ${library} INTERFACE_HEADER_SETS)
  set(header_arguments)
  foreach(header_set IN LISTS header_sets)
    list(APPEND header_arguments FILE_SET ${header_set} COMPONENT devel)
  endforeach()
  # A library that stands in for another one has a folder of its own.
  set(folder ${CMAKE_INSTALL_LIBDIR})
  if(library STREQUAL outlast_leveldb)
    string(APPEND folder /outlast/compat)
  endif()
  install(TARGETS ${library} EXPORT outlast_targets LIBRARY DESTINATION ${folder} COMPONENT devel
          ARCHIVE DESTINATION ${folder} COMPONENT devel ${header_arguments})
endforeach()
if(TARGET outlast_shared)
  install(TARGETS outlast_shared EXPORT outlast_targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT devel)
endif()

install(TARGETS outlast_rocksdb EXPORT outlast_targets)
install(EXPORT outlast_targets NAMESPACE outlast:: DESTINATION ${outlast_config_dir} COMPONENT devel)
configure_package_config_file(cmake/outlastConfig.cmake.in outlastConfig.cmake
                              INSTALL_DESTINATION ${outlast_config_dir})
# As the soname: until 1.0 each minor version has an interface of its own.
write_basic_package_version_file(outlastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/outlastConfig.cmake
              ${PROJECT_BINARY_DIR}/outlastConfigVersion.cmake
        DESTINATION ${outlast_config_dir} COMPONENT devel)

# Relative to the file itself: an installed tree may be moved.
file(RELATIVE_PATH outlast_prefix_from_pc /${outlast_pkgconfig_dir} /)
string(REGEX REPLACE "/$" "" outlast_prefix_from_pc ${outlast_prefix_from_pc})
foreach(file IN LISTS outlast_pc_files)
  configure_file(cmake/${file}.pc.in ${PROJECT_BINARY_DIR}/${file}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${file}.pc DESTINATION ${outlast_pkgconfig_dir} COMPONENT devel)
endforeach()

if(TARGET outlast)
  # What `outlast` executes lies beside it.
  foreach(program IN ITEMS outlast outlast-demo outlast-verify)
    if(TARGET ${program})
      install(TARGETS ${program} COMPONENT tools)
    endif()
  endforeach()
  if(TARGET outlast-bench AND NOT OUTLAST_DAILY)
    install(TARGETS outlast-bench COMPONENT tools)
    # LevelDB and RocksDB have programs of this name.
    install(PROGRAMS $<TARGET_FILE:db_bench> DESTINATION ${CMAKE_INSTALL_BINDIR}
            RENAME outlast-db_bench COMPONENT tools)
  endif()
  outlast_install_packed(share/man/outlast.1 outlast.1 ${CMAKE_INSTALL_MANDIR}/man1 tools)
  install(FILES share/bash-completion/outlast
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
  install(FILES share/zsh/_outlast DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
          COMPONENT tools)
  install(FILES share/fish/outlast.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
endif()
if(TARGET outlastd)
  install(TARGETS outlastd COMPONENT server)
  outlast_install_packed(share/man/outlastd.1 outlastd.1 ${CMAKE_INSTALL_MANDIR}/man1 server)
  configure_file(share/systemd/outlastd.service.in ${PROJECT_BINARY_DIR}/outlastd.service @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/outlastd.service share/systemd/outlastd.socket
          DESTINATION lib/systemd/system COMPONENT server)
  install(FILES share/outlastd/outlastd.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/outlastd/examples COMPONENT server)
endif()
# Each package has its own folder, which bears its name.
foreach(package IN ITEMS runtime:liboutlast${outlast_soversion} devel:liboutlast-dev tools:outlast server:outlastd)
  string(REPLACE ":" ";" package ${package})
  list(GET package 0 component)
  list(GET package 1 name)
  if((component STREQUAL tools AND NOT TARGET outlast) OR (component STREQUAL server AND NOT TARGET outlastd))
    continue()
  endif()
  set(folder ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES cmake/debian/copyright DESTINATION ${folder} COMPONENT ${component})
  outlast_install_packed(CHANGELOG.md changelog ${folder} ${component})
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/liboutlast-dev COMPONENT devel)

if(PROJECT_IS_TOP_LEVEL)
  include(outlast_package)
endif()
