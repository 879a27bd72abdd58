# Writes OUTPUT, a header that names the commit of SOURCE; `-modified` marks uncommitted changes.
execute_process(
  COMMAND git -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty=-modified
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
// What was built: written by bench/commit.cmake.
#pragma once

#include <string_view>

namespace outlast::bench {

inline constexpr std::string_view commit = "@commit@";

}  // namespace outlast::bench
]] @ONLY)
