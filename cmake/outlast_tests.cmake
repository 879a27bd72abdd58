# GoogleTest, and the one function that declares a test.

include(GoogleTest)

set(OUTLAST_GOOGLETEST /usr/src/googletest CACHE PATH "Sources of GoogleTest (package googletest)")
if(NOT EXISTS ${OUTLAST_GOOGLETEST}/CMakeLists.txt)
  message(FATAL_ERROR "No GoogleTest sources in ${OUTLAST_GOOGLETEST}: install the Debian package "
                      "googletest, set OUTLAST_GOOGLETEST, or set OUTLAST_TESTS to OFF")
endif()
# Built here rather than installed, so that every compiler, sanitizer and target has its own.
set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
set(BUILD_GMOCK ON CACHE BOOL "" FORCE)
add_subdirectory(${OUTLAST_GOOGLETEST} ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)

# outlast_add_test(<name> [LABELS <label>...] [SOURCES <file>...] [LIBRARIES <target>...] [TIMEOUT <s>])
# builds <name>.cpp, or the sources given, and registers each of its TESTs with ctest.
# Labels: unit, typed, crash, stress, kill, oom, layout; slow (not part of `make test`); no_asan and
# no_tsan (left out under that sanitizer, with the reason in a comment at the call).
function(outlast_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "TIMEOUT" "LABELS;SOURCES;LIBRARIES")
  if(NOT test_SOURCES)
    set(test_SOURCES ${name}.cpp)
  endif()
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 300)
  endif()
  add_executable(${name} ${test_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE outlast_own_code outlast_library ${test_LIBRARIES}
                                        GTest::gmock GTest::gtest_main)
  # The escapes carry a list of several labels through to the generated script.
  string(REPLACE ";" "\\;" labels "${test_LABELS}")
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120
    PROPERTIES LABELS "${labels}" TIMEOUT ${test_TIMEOUT})
endfunction()
