// A lock that delays fork().
#pragma once

#include <mutex>

namespace outlast::pool_detail {

/// No fork() happens during the lifetime of this object: data that the child's handlers read may be
/// changed. It is held for a moment only, and no other lock is taken meanwhile.
class no_fork {
 public:
  no_fork();

 private:
  std::lock_guard<std::mutex> lock_;
};

}  // namespace outlast::pool_detail
