// The checker of stores: maps whose changes have no result and can affect two keys atomically.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace outlast::verify {

/// The operations of a store. `call::key` contains the first key in its lower 32 bits, and the
/// second key above them.
enum class store_operation : std::uint8_t {
  put,       ///< sets the value of the first key
  erase,     ///< removes the first key
  replace,   ///< removes the first key and sets the value of the second one, atomically
  get,       ///< returns the value of the first key
  get_both,  ///< returns the values of both keys at one moment
};

/// The specification of a store. States are maps. Keys and values are below 2^32.
class store_oracle final : public stepwise_oracle {
 public:
  [[nodiscard]] static std::uint64_t first(const call& what) noexcept {
    return what.key & 0xffffffff;
  }
  [[nodiscard]] static std::uint64_t second(const call& what) noexcept { return what.key >> 32; }
  [[nodiscard]] static call make(store_operation kind, std::uint64_t first, std::uint64_t second,
                                 std::uint64_t value) noexcept {
    return {static_cast<std::uint8_t>(kind), first | second << 32, value};
  }
  /// Returns the result of a read that found these values.
  [[nodiscard]] static outcome result(std::optional<std::uint64_t> first,
                                      std::optional<std::uint64_t> second) noexcept {
    return {first.has_value(), first.value_or(0) | second.value_or(0) << 32};
  }

  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const override;
  [[nodiscard]] bool changes(const call& what) const override;
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override;
  /// Returns no key, one key, and three keys.
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;
};

}  // namespace outlast::verify
