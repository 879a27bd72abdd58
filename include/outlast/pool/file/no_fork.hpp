// A lock that holds back fork().
#pragma once

#include <mutex>

namespace outlast::pool_detail {

/// While one exists, no fork() happens: what the child's handlers read may be changed. Held for a
/// moment only, and nothing else is locked meanwhile.
class no_fork {
 public:
  no_fork();

 private:
  std::lock_guard<std::mutex> lock_;
};

}  // namespace outlast::pool_detail
