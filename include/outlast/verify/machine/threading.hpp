// The implementations of the threads of the simulated machine.
#pragma once

#include <cstdint>

namespace outlast::verify {

/// Both give the same results for the same seeds. Fibers are faster.
enum class threading : std::uint8_t {
  fibers,      ///< stacks of one operating-system thread
  os_threads,  ///< operating-system threads, of which one runs at a time
};

}  // namespace outlast::verify
