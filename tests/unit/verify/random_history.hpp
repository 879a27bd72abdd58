// Histories drawn at random that a right structure could have had, and some that none could: what
// two checkers of one specification are compared on.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>

#include <optional>
#include <vector>

namespace outlast::test {

struct history_shape {
  unsigned threads = 3;
  unsigned operations = 7;       ///< of all threads
  std::uint64_t lie_one_in = 0;  ///< wrong answers and stamps; 0: none
  bool stamped = false;          ///< changes bear the epoch in which they took effect
};

/// A history and what became of the state.
struct random_run {
  verify::history seen;
  verify::abstract_state last;
  std::vector<verify::abstract_state> epoch_ends;  ///< at [e]: the state when epoch e ended
};

/// Plays the operations one at a time, each at a random moment between its invocation and its
/// response, and stops in the midst of things.
class history_player {
 public:
  history_player(const verify::stepwise_oracle& meaning, verify::abstract_state initial,
                 history_shape shape, verify::random& source)
      : meaning_(meaning), shape_(shape), source_(source), threads_(shape.threads) {
    done_.last = std::move(initial);
    done_.epoch_ends.assign(1, done_.last);
  }

  random_run play() {
    const std::uint64_t moves = shape_.operations + source_.below(3 * shape_.operations);
    for (std::uint64_t i = 0; i < moves; ++i) {
      if (source_.one_in(4)) done_.epoch_ends.push_back(done_.last);
      move(static_cast<unsigned>(source_.below(shape_.threads)));
    }
    done_.epoch_ends.push_back(done_.last);
    return std::move(done_);
  }

 private:
  struct thread {
    std::optional<std::size_t> event_number;
    std::optional<verify::outcome> result;
  };

  void move(unsigned number) {
    thread& mine = threads_[number];
    if (!mine.event_number) {
      if (invoked_ == shape_.operations) return;
      const verify::call what = meaning_.draw(source_, {.keys = 2}, invoked_++);
      mine.event_number = done_.seen.invoke(number, what);
    } else if (!mine.result) {
      mine.result = take_effect(done_.seen.events()[*mine.event_number]);
    } else {
      done_.seen.respond(*mine.event_number, *mine.result);
      mine = {};
    }
  }

  /// The answer is the one that the specification accepts.
  verify::outcome take_effect(verify::event e) {
    std::vector<verify::outcome> results{{false}, {true}};
    for (const std::uint64_t word : done_.last) results.push_back({true, word});
    e.responded = e.invoked + 1;
    for (verify::outcome result : results) {
      e.result = result;
      const auto after = meaning_.step(done_.last, e);
      if (!after) continue;
      if (shape_.stamped && *after != done_.last) result.stamp = done_.epoch_ends.size();
      done_.last = *after;
      return lies() ? falsified(result) : result;
    }
    return {};
  }

  bool lies() { return shape_.lie_one_in != 0 && source_.one_in(shape_.lie_one_in); }

  verify::outcome falsified(verify::outcome result) {
    if (result.stamp != 0 && source_.one_in(2)) {
      result.stamp += 1 + source_.below(2);
    } else if (result.ok && source_.one_in(2)) {
      result.value = 100 + source_.below(shape_.operations);
    } else {
      result.ok = !result.ok;
    }
    return result;
  }

  const verify::stepwise_oracle& meaning_;
  history_shape shape_;
  verify::random& source_;
  std::vector<thread> threads_;
  random_run done_;
  unsigned invoked_ = 0;
};

}  // namespace outlast::test
