// The judge of structures that are durable later than at return: epochs [Wen21].
//
// Buffered durable linearizability: there is one order of all operations of the history, and what
// recovery found is the state after a prefix of it. Which prefix, the image says: a clock is in it,
// and the clock names an epoch up to which everything survived. (A clock that reads e names e - 2
// in [Wen21].) That alone would allow a structure to lose everything for ever, so there are lower
// bounds too: what had responded before a sync that returned, and what is `lag` epochs old.
//
// Not decomposable by keys: the prefix is one for all.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>
#include <outlast/verify/checkers/prefix_search.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify {

/// What a buffered subject does besides the operations of its specification.
enum class epoch_operation : std::uint8_t {
  advance = 254,  ///< a tick of the clock; promises nothing
  sync = 255,     ///< at return everything is durable that had responded when it was invoked
};

/// Buffered durable linearizability after a crash, linearizability in the order of the epochs
/// without one.
///
/// Contract of the subject: `observe` begins with the epoch that the image named when the subject
/// was opened, then the state as the specification encodes it. (After a recovery that was cut off
/// when it had set the clock, that is the epoch which that recovery kept.) `apply` stamps what it
/// answers with the epoch in which the operation took effect; 0, allowed for what has changed
/// nothing, lets it stand wherever real time and its answer do.
/// Thread-safety: immutable, any number of threads.
class buffered_oracle final : public oracle {
 public:
  /// An operation with the stamp e proves that all epochs up to e - `lag` are durable: 2 if nothing
  /// begins in an epoch whose tick is not durable, else 3.
  explicit buffered_oracle(std::shared_ptr<const stepwise_oracle> meaning, std::uint64_t lag = 3,
                           checker_rules rules = {})
      : meaning_(std::move(meaning)), lag_(lag), rules_(rules) {}
  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  [[nodiscard]] bool explains_after_crash(const abstract_state& initial, const history& seen,
                                          const abstract_state& found) const override;
  /// A sync: what a closed subject held survives.
  [[nodiscard]] std::optional<call> closing() const override;
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  /// What the specification knows, and a tick.
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override;
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;
  [[nodiscard]] std::string describe_result(const call& what, const outcome& result) const override;

 private:
  [[nodiscard]] prefix_demand demanded(std::span<const event> events, const history& seen,
                                       std::uint64_t boundary) const;

  std::shared_ptr<const stepwise_oracle> meaning_;
  std::uint64_t lag_;
  checker_rules rules_;
};

}  // namespace outlast::verify
