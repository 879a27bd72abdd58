// The limit of a process's address space, for messages.
#pragma once

#include <sys/resource.h>

#include <string>

namespace outlast::base {

/// Returns a clause about RLIMIT_AS for errors about address space; "" if the limit is not set.
[[nodiscard]] inline std::string sentence_of_address_limit() {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return "; the process may have " + std::to_string(limit.rlim_cur >> 20) +
         " MiB of address space at most (RLIMIT_AS): raise that limit (ulimit -v), or choose a "
         "smaller capacity";
}

}  // namespace outlast::base
