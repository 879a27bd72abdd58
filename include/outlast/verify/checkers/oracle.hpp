// The judges: does a recovered state agree with what the threads were told?
//
// Durable linearizability: there is an order of the operations that respects real time, contains
// every operation that responded before the crash with its answer, contains or leaves out each that
// was still pending, and ends in exactly the state that recovery found.
//
// Judges of other promises: buffered_oracle.hpp (epochs) and transaction_oracle.hpp. They are built
// on a `stepwise_oracle`, which says what the operations mean.
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

/// What a subject holds, as its oracle encodes it: a map as key, value, key, value, ... by
/// ascending key; a stack as its values from the bottom; a queue from the front.
using abstract_state = std::vector<std::uint64_t>;

/// How far a scenario reaches.
struct scope {
  unsigned threads = 2;
  unsigned operations = 3;  ///< per thread
  unsigned keys = 3;
  unsigned prefill = 2;  ///< operations before the exploration begins
};

/// A scenario that somebody has written down: what leads to its beginning, and what each thread
/// does.
struct program {
  std::vector<call> beginning;
  std::vector<std::vector<call>> threads;
};

/// Deliberate defects of a judge, for the tests that prove a judge can fail.
struct checker_rules {
  bool keeps_real_time = true;
  bool keeps_completed = true;
  bool keeps_prefix = true;    ///< nothing is missing that came before what survived
  bool keeps_boundary = true;  ///< those epochs survived that the image names, and no later one
  bool keeps_synced = true;    ///< what had responded before a sync that returned survived
  bool keeps_lag = true;       ///< what survived is not older than the epochs that were reached
};

/// A specification: what operations there are, what they mean, how to name them.
/// Thread-safety: immutable, any number of threads.
class oracle {
 public:
  virtual ~oracle() = default;
  /// Whether `found` explains `seen`, begun in state `initial`.
  [[nodiscard]] virtual bool explains(const abstract_state& initial, const history& seen,
                                      const abstract_state& found) const = 0;
  /// The same for a state that recovery found after a crash. Durable linearizability asks no other
  /// question.
  [[nodiscard]] virtual bool explains_after_crash(const abstract_state& initial,
                                                  const history& seen,
                                                  const abstract_state& found) const {
    return explains(initial, seen, found);
  }
  /// What closing a subject amounts to as an operation, where that matters: where not all that has
  /// responded is durable. A scenario then begins with a closed subject.
  [[nodiscard]] virtual std::optional<call> closing() const { return std::nullopt; }
  /// The next operation of a random scenario. `serial` differs from call to call: use it for
  /// values.
  [[nodiscard]] virtual call draw(random& source, const scope& within,
                                  std::uint64_t serial) const = 0;
  /// Every operation of the scope, for exhaustive scenarios; `serial` as above. Empty: the oracle
  /// knows no exhaustive scenarios.
  [[nodiscard]] virtual std::vector<call> alphabet(const scope& within,
                                                   std::uint64_t serial) const {
    static_cast<void>(within);
    static_cast<void>(serial);
    return {};
  }
  /// The operations that lead to each of the states in which exhaustive scenarios begin.
  [[nodiscard]] virtual std::vector<std::vector<call>> beginnings(const scope& within) const {
    static_cast<void>(within);
    return {{}};
  }
  /// What exhaustive explorations explore instead of each pair of operations, if there is any; with
  /// every number of preemptions where it has more than two threads.
  [[nodiscard]] virtual std::vector<program> programs(const scope& within) const {
    static_cast<void>(within);
    return {};
  }
  [[nodiscard]] virtual std::string describe(const call& what) const = 0;
  [[nodiscard]] virtual std::string describe(const abstract_state& state) const = 0;
  /// What the operation answered, for people: "yes" or "no", and the value. An operation that has
  /// nothing to answer is "done".
  [[nodiscard]] virtual std::string describe_result(const call& what, const outcome& result) const;
};

/// A specification whose operations act one at a time on the whole state.
/// Thread-safety: immutable, any number of threads.
class stepwise_oracle : public oracle {
 public:
  /// By a search for an order of the operations, step by step.
  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  /// The state after `e`; none where its answer contradicts. What is pending contradicts nothing.
  [[nodiscard]] virtual std::optional<abstract_state> step(const abstract_state& before,
                                                           const event& e) const = 0;
  /// Whether the operation may leave another state behind than it found.
  [[nodiscard]] virtual bool changes(const call& what) const = 0;
};

/// The value of `key` in a state that is a map.
[[nodiscard]] std::optional<std::uint64_t> value_of(const abstract_state& map, std::uint64_t key);
/// A state that is a map, with `key` bound to `value`, or without it.
[[nodiscard]] abstract_state bound(abstract_state map, std::uint64_t key,
                                   std::optional<std::uint64_t> value);
/// A state that is a map, for people.
[[nodiscard]] std::string map_to_text(const abstract_state& map);

/// Searches an order of `events` that leads from `initial` to `found`, remembering dead ends
/// [Wing and Gong 1993, Lowe 2017]. `step(state, event) -> optional<State>` applies one operation,
/// or refuses it where its answer contradicts. At most 64 events: throws `std::length_error`.
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
};

/// Sets and maps, judged key by key.
class map_oracle final : public stepwise_oracle {
 public:
  /// Scenarios are drawn from `offered`, with values or (a set) without.
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
  /// Each set of keys, inserted in ascending order.
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

/// Stacks (last in, first out) and queues (first in, first out). Long histories are left to
/// `stack_linearizable` and `queue_linearizable` where no value is added twice.
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
  /// None, one, and two elements.
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;
  [[nodiscard]] std::string describe_result(const call& what, const outcome& result) const override;

 private:
  discipline order_;
  checker_rules rules_;
};

}  // namespace outlast::verify
