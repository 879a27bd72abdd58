// The checker of buffered structures, whose operations are durable later than at return [Wen21].
//
// Buffered durable linearizability: there is one order of all operations of the history, and
// recovery found the state after a prefix of it. The clock in the image determines the prefix: it
// names an epoch up to which everything survived. (A clock that reads e names e - 2 in [Wen21].)
// This condition alone would permit a structure to lose everything. There are therefore two lower
// bounds: operations that had responded before a sync that returned must survive, and so must
// operations that are `lag` epochs old.
//
// The check cannot be decomposed by keys, because the prefix is one for all keys.
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

/// The operations of a buffered subject that its specification does not contain.
enum class epoch_operation : std::uint8_t {
  advance = 254,  ///< a tick of the clock, without a guarantee
  sync = 255,     ///< makes all operations durable that had responded at its invocation
};

/// The meaning of outcome::token.
enum class token_kind {
  stamps,  ///< an epoch
  own,     ///< a number that outcome::reached is compared with
};

/// Checks buffered durable linearizability after a crash, and linearizability in the order of the
/// epochs without a crash.
///
/// Contract of the subject: `observe` returns the epoch that the image named when the subject was
/// opened, followed by the state as the specification encodes it. If a recovery was interrupted
/// after it had set the clock, this is the epoch that the recovery kept. `apply` stamps its result
/// with the epoch in which the operation took effect. The stamp 0 is permitted for an operation
/// without effect; such an operation can have any place that real time and its result permit. A
/// result whose token is reached must be true of the prefix, and an operation with such a token
/// must be in it. The epoch that the image named reaches tokens that are epochs; others are reached
/// if a result claims so.
/// Thread-safety: immutable, any number of threads.
class buffered_oracle final : public oracle {
 public:
  /// An operation with the stamp e proves that all epochs up to e - `lag` are durable. `lag` is 2
  /// if no operation begins in an epoch whose tick is not durable, and 3 otherwise. Exhaustive
  /// explorations explore the programs of `fixed`. If `fixed` is empty, they explore all pairs of
  /// operations.
  explicit buffered_oracle(std::shared_ptr<const stepwise_oracle> meaning, std::uint64_t lag = 3,
                           checker_rules rules = {}, std::vector<program> fixed = {},
                           token_kind tokens = token_kind::stamps)
      : meaning_(std::move(meaning)),
        lag_(lag),
        rules_(rules),
        programs_(std::move(fixed)),
        tokens_(tokens) {}
  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  [[nodiscard]] bool explains_after_crash(const abstract_state& initial, const history& seen,
                                          const abstract_state& found) const override;
  /// Returns a sync, because the content of a closed subject survives.
  [[nodiscard]] std::optional<call> closing() const override;
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  /// Returns the operations of the specification, and a tick.
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override;
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::vector<program> programs(const scope&) const override { return programs_; }
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;
  [[nodiscard]] std::string describe_result(const call& what, const outcome& result) const override;

 private:
  [[nodiscard]] prefix_demand demanded(std::span<const event> events, const history& seen,
                                       std::uint64_t boundary) const;

  std::shared_ptr<const stepwise_oracle> meaning_;
  std::uint64_t lag_;
  checker_rules rules_;
  std::vector<program> programs_;
  token_kind tokens_;
};

}  // namespace outlast::verify
