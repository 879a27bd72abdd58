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

outlast_add_precompiled(tests LIBRARIES outlast_library GTest::gmock)

option(OUTLAST_LEAVE_TO_OTHERS "Without the tests that find as much in the daily suite or under a sanitizer" OFF)
option(OUTLAST_TESTS_TOGETHER "Run the short tests of a program in one process: ctest takes a while for each" OFF)
set(OUTLAST_SHORT_TESTS_OPTIONS "" CACHE STRING
    "Options for tests that are compiled for longer than they run: all but crash")

# outlast_add_test(<name> [REST] [LABELS <label>...] [SOURCES <file>...] [LIBRARIES <target>...] [TIMEOUT <s>]
#                  [COST <s>] [SANITIZED_SHARDS <n> [SANITIZED_WITHOUT <pattern>]] [UNTHREADED <pattern>]
#                  [DAILY_SHARDS <n> DAILY <pattern>])
# builds <name>.cpp, or the sources given, and registers each of its TESTs with ctest, each in a process
# of its own; with OUTLAST_TESTS_TOGETHER, or under a sanitizer, where processes start slowly, in one process together.
# (Not those of the crash explorer, which are long and few: in processes of their own they run side by side.)
# REST: `make test`, whose build has OUTLAST_DAILY, leaves it to `make test-all`.
# DAILY_SHARDS: of a program with very many tests, `make test` runs those that match the pattern, in so many processes.
# SANITIZED_SHARDS: those too, in so many processes, under a sanitizer, without the tests that match the pattern.
# COST: about how long it takes, where that is long. Such tests begin first, or one would run alone at the
# end.
# Labels: unit, typed, crash, stress, kill, oom, layout; threads (starts some); slow (in no suite);
# no_asan (not built under that sanitizer, with the reason in a comment at the call). ThreadSanitizer is for those
# that start threads, without the long ones among them that start none: UNTHREADED names them. No sanitizer has
# those in which processes are killed or disks lose power. OUTLAST_LEAVE_TO_OTHERS keeps crashes, kills, and
# what `make test` leaves out.
function(outlast_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "REST" "TIMEOUT;COST;SANITIZED_SHARDS;SANITIZED_WITHOUT;UNTHREADED;DAILY_SHARDS;DAILY" "LABELS;SOURCES;LIBRARIES")
  if(OUTLAST_SANITIZE MATCHES "address" AND "no_asan" IN_LIST test_LABELS)
    return()
  endif()
  if(OUTLAST_SANITIZE MATCHES "thread" AND NOT test_LABELS MATCHES "stress|threads")
    return()
  endif()
  if(OUTLAST_SANITIZE AND test_LABELS MATCHES "kill|powercut")
    return()
  endif()
  if(OUTLAST_DAILY AND test_REST)
    return()
  endif()
  if(OUTLAST_LEAVE_TO_OTHERS AND NOT test_REST AND NOT test_LABELS MATCHES "crash|kill")
    return()
  endif()
  if(NOT test_SOURCES)
    set(test_SOURCES ${name}.cpp)
  endif()
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 300)
  endif()
  if(NOT test_COST)
    set(test_COST 0)
  endif()
  add_executable(${name} ${test_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE outlast_own_code outlast_library ${test_LIBRARIES}
                                        GTest::gmock GTest::gtest_main)
  outlast_use_precompiled(tests ${name})
  if(NOT test_LABELS MATCHES "crash")
    target_compile_options(${name} PRIVATE ${OUTLAST_SHORT_TESTS_OPTIONS})
  endif()
  # One label of several words: a list does not survive the generated script. Filters are patterns.
  string(REPLACE ";" "+" labels "${test_LABELS}")
  if((OUTLAST_SANITIZE OR OUTLAST_TESTS_TOGETHER) AND NOT labels MATCHES "crash|kill|powercut")
    if(OUTLAST_SANITIZE MATCHES "thread" AND test_UNTHREADED)
      add_test(NAME ${name} COMMAND ${name} --gtest_filter=-${test_UNTHREADED})
    else()
      add_test(NAME ${name} COMMAND ${name})
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${test_TIMEOUT} COST ${test_COST})
    return()
  endif()
  if(OUTLAST_SANITIZE AND test_SANITIZED_SHARDS)
    outlast_add_shards(${name} ${test_SANITIZED_SHARDS} "-${test_SANITIZED_WITHOUT}" "${labels}" ${test_TIMEOUT}
                       ${test_COST})
    return()
  endif()
  if(OUTLAST_DAILY AND test_DAILY_SHARDS)
    outlast_add_shards(${name} ${test_DAILY_SHARDS} "${test_DAILY}" "${labels}" ${test_TIMEOUT} ${test_COST})
    return()
  endif()
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120
    PROPERTIES LABELS "${labels}" TIMEOUT ${test_TIMEOUT} COST ${test_COST})
endfunction()

# Registers the tests of a program that match the pattern as so many tests, each a process.
function(outlast_add_shards name shards pattern labels timeout cost)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard} COMMAND ${name} --gtest_filter=${pattern})
    set_tests_properties(
      ${name}.${shard}
      PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} COST ${cost}
                 ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# outlast_add_compile_fail(<name> MATCHES <regex> [SOURCE <file>] [LIBRARIES <target>...])
# <name>.cpp, or SOURCE, must not compile, and the compiler's message must match. The same file must
# compile with -DOUTLAST_GOOD, so that the refusal is due to the line that the test is about.
function(outlast_add_compile_fail name)
  cmake_parse_arguments(PARSE_ARGV 1 fail "" "MATCHES;SOURCE" "LIBRARIES")
  if(NOT fail_MATCHES)
    message(FATAL_ERROR "outlast_add_compile_fail(${name}): MATCHES is missing")
  endif()
  if(NOT fail_SOURCE)
    set(fail_SOURCE ${name}.cpp)
  endif()
  foreach(variant IN ITEMS bad good)
    set(target compile_fail.${name}.${variant})
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${fail_SOURCE})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE outlast_library ${fail_LIBRARIES})
    add_test(NAME ${target} COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target ${target})
    # One at a time: each is a run of the build tool in the same tree.
    set_tests_properties(${target} PROPERTIES LABELS compile_fail TIMEOUT 120 RESOURCE_LOCK build_tree)
  endforeach()
  target_compile_definitions(compile_fail.${name}.good PRIVATE OUTLAST_GOOD)
  set_tests_properties(compile_fail.${name}.bad PROPERTIES PASS_REGULAR_EXPRESSION "${fail_MATCHES}")
endfunction()
