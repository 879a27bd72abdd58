# How our own code is compiled. Nothing here reaches a consumer: outlast_own_code is not exported, and
# the directory-wide settings are made only where this project is the one being built.

foreach(oldest IN ITEMS GNU:12 Clang:16)
  string(REPLACE ":" ";" oldest ${oldest})
  list(GET oldest 0 compiler)
  list(GET oldest 1 version)
  if(CMAKE_CXX_COMPILER_ID STREQUAL compiler AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS version)
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${compiler} ${CMAKE_CXX_COMPILER_VERSION}, and Outlast needs g++ 12 or "
                        "clang 16 at least: name another compiler with -DCMAKE_CXX_COMPILER=... in a new build directory")
  endif()
endforeach()

find_package(Threads REQUIRED)

add_library(outlast_own_code INTERFACE)
target_compile_options(
  outlast_own_code
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
            -Wold-style-cast -Wextra-semi
            $<$<BOOL:${OUTLAST_WARNINGS_AS_ERRORS}>:-Werror>)
if(OUTLAST_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # ThreadSanitizer does not see fences on their own; g++ warns at each.
  target_compile_options(outlast_own_code INTERFACE -Wno-tsan)
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

  find_program(OUTLAST_CCACHE ccache)
  if(OUTLAST_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${OUTLAST_CCACHE})
  endif()

  if(OUTLAST_LINKER)
    add_link_options(-fuse-ld=${OUTLAST_LINKER})
  endif()

  if(OUTLAST_SANITIZE)
    add_compile_options(-fsanitize=${OUTLAST_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${OUTLAST_SANITIZE})
  endif()
endif()
