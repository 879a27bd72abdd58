#pragma once

#include <cstdint>

namespace outlast::test::powercut {

/// A value of more than 8 bytes, so that updates replace nodes; it knows whether it is whole.
struct wide {
  std::uint64_t value = 0;
  std::uint64_t again = 0;

  wide() = default;
  wide(std::uint64_t v) : value(v), again(~v) {}
  operator std::uint64_t() const noexcept { return again == ~value ? value : 0xbad; }
};

}  // namespace outlast::test::powercut
