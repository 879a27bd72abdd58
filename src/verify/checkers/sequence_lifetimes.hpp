// The time during which each value of a stack or queue was there, according to a history. The
// checkers of both begin with it. Requires that no value is added twice.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace outlast::verify {

/// From an invocation to its response.
struct interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// A time after every event of a history, at which pending operations end. The final content is
/// taken even later.
inline constexpr std::int64_t after_all = std::int64_t{1} << 33;

struct lifetime {
  std::uint64_t value = 0;
  bool add_pending = false;
  interval added;
  /// Empty if the value is missing or was taken by a pending take.
  std::optional<interval> taken;
};

[[nodiscard]] inline bool adds(const event& e) {
  return static_cast<sequence_operation>(e.what.kind) == sequence_operation::add;
}

struct sequence_lifetimes {
  /// The initial content counts as added before the history. `found`, in the order in which it
  /// would be taken, counts as taken after it.
  sequence_lifetimes(const abstract_state& initial, const history& seen,
                     const abstract_state& found, bool keeps_real_time) {
    begin(initial, seen);
    for (const event& e : seen.events()) {
      if (!adds(e)) take(e, keeps_real_time);
    }
    std::int64_t now = after_all + 2;
    for (const std::uint64_t value : found) {
      take(value, {now, now + 1}, keeps_real_time);
      now += 2;
    }
  }

  bool contradictory = false;  ///< a value was taken that was not there
  std::vector<lifetime> values;
  std::vector<interval> pending_takes;  ///< in the order of their invocations
  std::vector<interval> empty_results;

 private:
  [[nodiscard]] static interval span_of(const event& e) {
    return {e.invoked, e.pending() ? after_all : std::int64_t{e.responded}};
  }

  void begin(const abstract_state& initial, const history& seen) {
    std::int64_t now = -2 * static_cast<std::int64_t>(initial.size());
    for (const std::uint64_t value : initial) {
      values.push_back({value, false, {now, now + 1}, std::nullopt});
      now += 2;
    }
    for (const event& e : seen.events()) {
      if (adds(e)) values.push_back({e.what.argument, e.pending(), span_of(e), std::nullopt});
    }
    std::sort(values.begin(), values.end(),
              [](const lifetime& a, const lifetime& b) { return a.value < b.value; });
  }

  void take(const event& e, bool keeps_real_time) {
    if (e.pending()) {
      pending_takes.push_back(span_of(e));
    } else if (e.result.ok) {
      take(e.result.value, span_of(e), keeps_real_time);
    } else {
      empty_results.push_back(span_of(e));
    }
  }

  void take(std::uint64_t value, interval when, bool keeps_real_time) {
    const auto at =
        std::lower_bound(values.begin(), values.end(), value,
                         [](const lifetime& a, std::uint64_t wanted) { return a.value < wanted; });
    if (at == values.end() || at->value != value || at->taken ||
        (keeps_real_time && when.to < at->added.from)) {
      contradictory = true;
      return;
    }
    at->taken = when;
  }
};

}  // namespace outlast::verify
