# Precompiled headers, for builds that compile everything once: those of `make test`. They save two
# fifths of clang's time, a tenth of g++'s. Others go without, so that a source that lacks an include of its own does not compile
# there, and so that a touched header recompiles only what includes it.

option(OUTLAST_PRECOMPILE "Precompile what most sources include" OFF)
# CMake would declare all that it precompiles a system header, of which no compiler warns.
set(CMAKE_PCH_PROLOGUE "")

# outlast_add_precompiled(<name>): compiles cmake/precompiled/<name>.hpp with OPTIONS for programs linked with
# LIBRARIES. Not in public headers' own targets: users compile those as they are.
function(outlast_add_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 precompiled "" "" "LIBRARIES;OPTIONS")
  if(NOT OUTLAST_PRECOMPILE)
    return()
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_precompiled.cpp)  # a target must have one
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(outlast_${name}_precompiled OBJECT ${source})
  target_include_directories(outlast_${name}_precompiled PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(outlast_${name}_precompiled PRIVATE outlast_own_code ${precompiled_LIBRARIES})
  target_compile_options(outlast_${name}_precompiled PRIVATE ${precompiled_OPTIONS})
  target_precompile_headers(outlast_${name}_precompiled
                            PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/${name}.hpp)
endfunction()

# outlast_use_precompiled(<name> <target>...): the targets begin with what <name> compiled.
function(outlast_use_precompiled name)
  if(NOT OUTLAST_PRECOMPILE)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM outlast_${name}_precompiled)
    # Compiled with a macro, read with it.
    target_compile_definitions(
      ${target} PRIVATE $<TARGET_PROPERTY:outlast_${name}_precompiled,COMPILE_DEFINITIONS>)
  endforeach()
endfunction()
