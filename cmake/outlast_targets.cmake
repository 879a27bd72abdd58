# The two libraries, and the two functions by which a layer adds its files: a new header or source is
# one line in include/outlast/<layer>/headers.cmake or src/<layer>/sources.cmake.

# Each public header also compiles alone: a matter of its text, which no sanitizer changes.
if(OUTLAST_TESTS AND NOT OUTLAST_SANITIZE)
  set(OUTLAST_HEADERS_ALONE ON)
else()
  set(OUTLAST_HEADERS_ALONE OFF)
endif()

option(OUTLAST_INNER_HEADERS_ALONE "Compile also those in detail/ alone, which nobody includes but the library" ON)

# outlast_add_objects(<target>): a part of a library, for programs here that need only that.
function(outlast_add_objects target)
  add_library(${target} OBJECT)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE outlast_own_code PUBLIC Threads::Threads)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

# outlast_add_library(<target> <exported name> <file name>)
function(outlast_add_library target exported file)
  add_library(${target} STATIC)
  add_library(outlast::${exported} ALIAS ${target})
  set_target_properties(
    ${target}
    PROPERTIES EXPORT_NAME ${exported}
               OUTPUT_NAME ${file}
               LINKER_LANGUAGE CXX
               POSITION_INDEPENDENT_CODE ON
               VERIFY_INTERFACE_HEADER_SETS ${OUTLAST_HEADERS_ALONE})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:outlast_own_code>)
  # <src/LAYER/...>: headers that are not installed.
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

# outlast_add_shared_library(<target> <exported name> <static target> <objects>...): the same objects as a shared library
# of the same file name. Until 1.0 each minor version has an interface of its own: so has the soname.
function(outlast_add_shared_library target exported static)
  add_library(${target} SHARED $<TARGET_OBJECTS:${static}> ${ARGN})
  add_library(outlast::${exported} ALIAS ${target})
  get_target_property(file ${static} OUTPUT_NAME)
  set_target_properties(
    ${target}
    PROPERTIES EXPORT_NAME ${exported}
               OUTPUT_NAME ${file}
               LINKER_LANGUAGE CXX
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} PUBLIC Threads::Threads)
  # Threads that exit and fork() call into it: it stays although a program closes it.
  target_link_options(${target} PRIVATE -Wl,-z,nodelete)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# Adds public headers of a layer; `.` names include/outlast itself.
function(outlast_headers target layer)
  if(NOT ARGN)
    return()
  endif()
  set(inner ${ARGN})
  set(outer ${ARGN})
  list(FILTER inner INCLUDE REGEX "(detail|impl)/")
  list(FILTER outer EXCLUDE REGEX "(detail|impl)/")
  foreach(headers IN ITEMS outer inner)
    if(NOT ${headers})
      continue()
    endif()
    list(TRANSFORM ${headers} PREPEND ${PROJECT_SOURCE_DIR}/include/outlast/${layer}/)
    target_sources(
      ${target}
      PUBLIC FILE_SET ${headers}_headers
             TYPE HEADERS
             BASE_DIRS ${PROJECT_SOURCE_DIR}/include
             FILES ${${headers}})
  endforeach()
  if(NOT OUTLAST_INNER_HEADERS_ALONE)
    set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY outer_headers)
  endif()
endfunction()

# Adds compiled halves of a layer.
function(outlast_sources target layer)
  if(NOT ARGN)
    return()
  endif()
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/src/${layer}/)
  target_sources(${target} PRIVATE ${ARGN})
endfunction()
