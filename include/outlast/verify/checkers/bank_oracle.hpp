// The checker of atomic variables: each must behave as one std::atomic does, and survive.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace outlast::verify {

/// Operations of a bank of atomic 64-bit variables; the key of a call is the variable's number.
enum class bank_operation : std::uint8_t {
  load,              ///< returns the value
  store,             ///< stores the argument
  exchange,          ///< stores the argument, returns the old value
  compare_exchange,  ///< strong: from expected_of(argument) to desired_of(argument); ok if it
                     ///< did, otherwise returns the old value
  fetch_add,         ///< adds the argument, returns the old value
};

/// Returns the argument of a compare_exchange between small values.
[[nodiscard]] constexpr std::uint64_t exchange_of(std::uint32_t expected,
                                                  std::uint32_t desired) noexcept {
  return std::uint64_t{expected} << 32 | desired;
}
[[nodiscard]] constexpr std::uint64_t expected_of(std::uint64_t argument) noexcept {
  return argument >> 32;
}
[[nodiscard]] constexpr std::uint64_t desired_of(std::uint64_t argument) noexcept {
  return argument & 0xffff'ffff;
}

/// A bank of `within.keys` variables, all 0 at first. Its state is a map from numbers to values
/// that are not 0. Values are small, so that a variable often has an earlier value again.
class bank_oracle final : public stepwise_oracle {
 public:
  /// Exhaustive explorations explore the programs of `fixed`. If `fixed` is empty, they explore
  /// each pair of operations.
  explicit bank_oracle(std::vector<program> fixed = {}) : programs_(std::move(fixed)) {}
  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const override;
  [[nodiscard]] bool changes(const call& what) const override;
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override;
  [[nodiscard]] std::vector<program> programs(const scope&) const override { return programs_; }
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;

 private:
  std::vector<program> programs_;
};

}  // namespace outlast::verify
