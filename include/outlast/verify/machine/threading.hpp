// What carries the threads of the simulated machine.
#pragma once

#include <cstdint>

namespace outlast::verify {

/// Both give the same verdicts for the same seeds; fibers give them sooner.
enum class threading : std::uint8_t {
  fibers,      ///< stacks of one operating-system thread
  os_threads,  ///< one operating-system thread each, of which one runs at a time
};

}  // namespace outlast::verify
