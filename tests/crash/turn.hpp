// A lock for the small subjects of these tests: the machine's threads are fibers of one thread.
#pragma once

#include <outlast/verify/machine/simulated.hpp>

namespace outlast::test {

/// Critical sections of the machine's threads: one at a time.
class turn {
 public:
  explicit turn(bool& taken) : taken_(taken) {
    domain::simulated::schedule_point();
    while (taken_) domain::simulated::relax();
    taken_ = true;
  }
  ~turn() { taken_ = false; }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

 private:
  bool& taken_;
};

}  // namespace outlast::test
