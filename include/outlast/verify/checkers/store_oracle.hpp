// Judges stores: maps whose changes answer nothing, and may be of two keys at once.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace outlast::verify {

/// `call::key` is the first key, and the second one 32 bits above it.
enum class store_operation : std::uint8_t {
  put,       ///< the first key has the value
  erase,     ///< the first key is gone
  replace,   ///< the first key is gone, and the second one has the value, at once
  get,       ///< the first key's value
  get_both,  ///< the values of both at one moment
};

/// The specification. States are maps. Keys and values are below 2^32.
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
  /// The answer of a read that found these.
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
  /// Nothing, one key, three keys.
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;
};

}  // namespace outlast::verify
