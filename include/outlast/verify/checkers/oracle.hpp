// The checkers of recovered states: a state must agree with the results that the threads received.
//
// Durable linearizability: there is an order of the operations that respects real time and ends in
// exactly the state that recovery found. It contains every operation that responded before the
// crash, with its result. It contains or omits each operation that was still pending.
//
// buffered_oracle.hpp (epochs) and transaction_oracle.hpp check other guarantees. They use a
// `stepwise_oracle`, which defines the meaning of the operations.
#pragma once

#include <outlast/verify/checkers/history.hpp>
#include <outlast/verify/explorer/random.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify {

/// The content of a subject, as its oracle encodes it. A map is a sequence key, value, key, value,
/// ... by ascending key. A stack is its values from the bottom, a queue its values from the front.
using abstract_state = std::vector<std::uint64_t>;

/// The size of a scenario.
struct scope {
  unsigned threads = 2;
  unsigned operations = 3;  ///< per thread
  unsigned keys = 3;
  unsigned prefill = 2;  ///< operations before the exploration begins
};

/// A scenario that was written by hand: the operations before it begins, and the operations of each
/// thread.
struct program {
  std::vector<call> beginning;
  std::vector<std::vector<call>> threads;
};

/// The rules that a checker enforces. Tests switch one off to prove that the checker can fail.
struct checker_rules {
  bool keeps_real_time = true;
  bool keeps_completed = true;
  bool keeps_prefix = true;    ///< no operation is missing before one that survived
  bool keeps_boundary = true;  ///< exactly the epochs survived that the image names
  bool keeps_synced = true;    ///< operations that responded before a completed sync survived
  bool keeps_lag = true;       ///< the surviving state is not older than the reached epochs permit
  bool keeps_claims = true;    ///< nor older than the subject claimed durability
  bool keeps_tokens = true;    ///< results are true whose tokens the image names
};

/// A specification: the operations, their meaning and their names.
/// Thread-safety: immutable, any number of threads.
class oracle {
 public:
  virtual ~oracle() = default;
  /// Returns true if the state `found` can result from the history `seen`, begun in `initial`.
  [[nodiscard]] virtual bool explains(const abstract_state& initial, const history& seen,
                                      const abstract_state& found) const = 0;
  /// Does the same for a state that recovery found after a crash. The two differ only for
  /// conditions other than durable linearizability.
  [[nodiscard]] virtual bool explains_after_crash(const abstract_state& initial,
                                                  const history& seen,
                                                  const abstract_state& found) const {
    return explains(initial, seen, found);
  }
  /// Returns the operation to which closing a subject is equivalent, if an operation that has
  /// responded need not be durable. A scenario then begins with a closed subject.
  [[nodiscard]] virtual std::optional<call> closing() const { return std::nullopt; }
  /// Returns the next operation of a random scenario. `serial` differs from call to call; the
  /// oracle uses it for values.
  [[nodiscard]] virtual call draw(random& source, const scope& within,
                                  std::uint64_t serial) const = 0;
  /// Returns every operation of the scope, for exhaustive scenarios. `serial` is as above. An empty
  /// result means that the oracle has no exhaustive scenarios.
  [[nodiscard]] virtual std::vector<call> alphabet(const scope& within,
                                                   std::uint64_t serial) const {
    static_cast<void>(within);
    static_cast<void>(serial);
    return {};
  }
  /// Returns, for each state in which exhaustive scenarios begin, the operations that lead to it.
  [[nodiscard]] virtual std::vector<std::vector<call>> beginnings(const scope& within) const {
    static_cast<void>(within);
    return {{}};
  }
  /// Returns the programs that exhaustive explorations explore instead of each pair of operations,
  /// if there are any. A program of more than two threads is explored with every number of
  /// preemptions.
  [[nodiscard]] virtual std::vector<program> programs(const scope& within) const {
    static_cast<void>(within);
    return {};
  }
  [[nodiscard]] virtual std::string describe(const call& what) const = 0;
  [[nodiscard]] virtual std::string describe(const abstract_state& state) const = 0;
  /// Returns the text of a result: "yes" or "no", and the value. It is "done" for an operation
  /// without a result.
  [[nodiscard]] virtual std::string describe_result(const call& what, const outcome& result) const;
};

/// A specification whose operations apply one at a time to the whole state.
/// Thread-safety: immutable, any number of threads.
class stepwise_oracle : public oracle {
 public:
  /// Searches an order of the operations, step by step.
  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  /// Returns the state after `e`, or nothing if the result of `e` contradicts it. A pending
  /// operation has no result that could contradict.
  [[nodiscard]] virtual std::optional<abstract_state> step(const abstract_state& before,
                                                           const event& e) const = 0;
  /// Returns true if the operation can change the state.
  [[nodiscard]] virtual bool changes(const call& what) const = 0;
};

/// Returns the value of `key` in a state that is a map.
[[nodiscard]] std::optional<std::uint64_t> value_of(const abstract_state& map, std::uint64_t key);
/// Returns a state that is a map, with `key` bound to `value`, or without `key`.
[[nodiscard]] abstract_state bound(abstract_state map, std::uint64_t key,
                                   std::optional<std::uint64_t> value);
/// Returns the text of a state that is a map.
[[nodiscard]] std::string map_to_text(const abstract_state& map);

/// Searches an order of `events` that leads from `initial` to `found`, and records dead ends
/// [Wing and Gong 1993, Lowe 2017]. `step(state, event) -> optional<State>` applies one operation,
/// or returns nothing if the result of the event contradicts the state. Throws `std::length_error`
/// if there are more than 64 events.
template <class State, class Step>
[[nodiscard]] bool linearizable(std::span<const event* const> events, const State& initial,
                                const State& found, Step&& step, checker_rules rules = {}) {
  if (events.size() > 64) throw std::length_error("a history of more than 64 events");
  std::uint64_t required = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i]->pending() && rules.keeps_completed) required |= std::uint64_t{1} << i;
  }
  std::vector<std::pair<std::uint64_t, State>> reached{{0, initial}};
  const auto reach = [&](std::uint64_t done, State&& state) {
    std::pair<std::uint64_t, State> next{done, std::move(state)};
    for (const auto& known : reached) {
      if (known == next) return;
    }
    reached.push_back(std::move(next));
  };
  for (std::size_t at = 0; at < reached.size(); ++at) {
    const auto [done, state] = reached[at];
    if ((done & required) == required && state == found) return true;
    std::uint32_t deadline = event::never;
    for (std::size_t i = 0; i < events.size() && rules.keeps_real_time; ++i) {
      if ((done >> i & 1) == 0) deadline = std::min(deadline, events[i]->responded);
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
      if ((done >> i & 1) != 0 || events[i]->invoked > deadline) continue;
      if (std::optional<State> next = step(state, *events[i])) {
        reach(done | std::uint64_t{1} << i, std::move(*next));
      }
    }
  }
  return false;
}

/// Operations of sets and maps. A set uses value 0 throughout.
enum class map_operation : std::uint8_t {
  insert,    ///< adds if absent; ok if it did
  erase,     ///< removes if present; ok if it did
  contains,  ///< ok if present
  get,       ///< ok and the value if present
  put,       ///< adds or replaces; ok if the key was absent
  update,    ///< replaces if present; ok if it did
  clear,     ///< removes all keys; ok. Only for checkers that do not check each key separately
};

/// The specification of sets and maps. Each key is checked separately.
class map_oracle final : public stepwise_oracle {
 public:
  /// Draws scenarios from `offered`. `has_values` is false for a set.
  explicit map_oracle(std::vector<map_operation> offered, bool has_values, checker_rules rules = {})
      : offered_(std::move(offered)), has_values_(has_values), rules_(rules) {}
  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const override;
  [[nodiscard]] bool changes(const call& what) const override;
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override;
  /// Returns each set of keys, inserted in ascending order.
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;

 private:
  [[nodiscard]] call make(map_operation kind, std::uint64_t key, std::uint64_t serial) const;

  std::vector<map_operation> offered_;
  bool has_values_;
  checker_rules rules_;
};

enum class sequence_operation : std::uint8_t {
  add,   ///< push or enqueue `argument`
  take,  ///< pop or dequeue; ok and the value if there was one
};

/// The specification of stacks (last in, first out) and queues (first in, first out). Long
/// histories in which no value is added twice are checked by `stack_linearizable` and
/// `queue_linearizable`.
class sequence_oracle final : public stepwise_oracle {
 public:
  enum class discipline { stack, queue };
  explicit sequence_oracle(discipline order, checker_rules rules = {})
      : order_(order), rules_(rules) {}
  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const override;
  [[nodiscard]] bool changes(const call& what) const override;
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override;
  /// Returns no, one and two elements.
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;
  [[nodiscard]] std::string describe_result(const call& what, const outcome& result) const override;

 private:
  discipline order_;
  checker_rules rules_;
};

}  // namespace outlast::verify
