// The judges: does a recovered state agree with what the threads were told?
//
// Durable linearizability: there is an order of the operations that respects real time, contains
// every operation that responded before the crash with its answer, contains or leaves out each that
// was still pending, and ends in exactly the state that recovery found.
#pragma once

#include <outlast/verify/history.hpp>
#include <outlast/verify/random.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

/// Deliberate defects of a judge, for the tests that prove a judge can fail.
struct judging {
  bool keeps_real_time = true;
  bool keeps_completed = true;
};

/// A specification: what operations there are, what they mean, how to name them.
/// Thread-safety: immutable, any number of threads.
class oracle {
 public:
  virtual ~oracle() = default;
  /// Whether `found` explains `seen`, begun in state `initial`.
  [[nodiscard]] virtual bool explains(const abstract_state& initial, const history& seen,
                                      const abstract_state& found) const = 0;
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
  [[nodiscard]] virtual std::string describe(const call& what) const = 0;
  [[nodiscard]] virtual std::string describe(const abstract_state& state) const = 0;
};

/// Searches an order of `events` that leads from `initial` to `found`, remembering dead ends
/// [Wing and Gong 1993, Lowe 2017]. `step(state, event) -> optional<State>` applies one operation,
/// or refuses it where its answer contradicts. At most 64 events.
template <class State, class Step>
[[nodiscard]] bool linearizable(std::span<const event* const> events, const State& initial,
                                const State& found, Step&& step, judging rules = {}) {
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
class map_oracle final : public oracle {
 public:
  /// Scenarios are drawn from `offered`, with values or (a set) without.
  explicit map_oracle(std::vector<map_operation> offered, bool has_values, judging rules = {})
      : offered_(std::move(offered)), has_values_(has_values), rules_(rules) {}
  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
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
  judging rules_;
};

enum class sequence_operation : std::uint8_t {
  add,   ///< push or enqueue `argument`
  take,  ///< pop or dequeue; ok and the value if there was one
};

/// Stacks (last in, first out) and queues (first in, first out).
class sequence_oracle final : public oracle {
 public:
  enum class discipline { stack, queue };
  explicit sequence_oracle(discipline order, judging rules = {}) : order_(order), rules_(rules) {}
  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override;
  /// None, one, and two elements.
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override;

 private:
  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const;

  discipline order_;
  judging rules_;
};

}  // namespace outlast::verify
