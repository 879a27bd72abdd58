// Who runs next.
#pragma once

#include <outlast/verify/explorer/random.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace outlast::verify {

/// The decisions of one execution, where there was a choice: thread numbers.
using schedule = std::vector<std::uint8_t>;

/// "0*12 1*3 0": each thread with the number of decisions in a row that it won.
[[nodiscard]] std::string to_text(const schedule& choices);
/// The reverse. Throws error{bad_argument}.
[[nodiscard]] schedule schedule_from_text(const std::string& text);

/// What a thread does next when it goes on: enough to know what does not depend on it.
struct intent {
  std::uint64_t line = 0;  ///< address / 64 of what it touches; 0: several volatile places
  bool writes = true;
  bool persistent = false;  ///< the line is one of the simulated memory
  /// An invocation, or a fence that guarantees something: what other threads did before makes a
  /// difference to the judges or to a crash, whatever lines they touched.
  bool boundary = false;
};

/// Decides, at each scheduling point with more than one runnable thread, which one goes on.
class strategy {
 public:
  virtual ~strategy() = default;
  /// A new execution of `threads` threads that takes about `horizon` decisions.
  virtual void begin(random source, unsigned threads, std::uint32_t horizon) = 0;
  /// One of `runnable`. `current` is the running thread, or none's number.
  [[nodiscard]] virtual unsigned choose(std::span<const unsigned> runnable, unsigned current) = 0;

  /// True if it wants to be asked only where the choice can matter, and told what the threads are
  /// about to do.
  [[nodiscard]] virtual bool looks_ahead() const { return false; }
  /// What each thread does next, before `choose`; only if it looks ahead.
  virtual void look(std::span<const intent> next) { static_cast<void>(next); }
};

/// Each runnable thread with equal probability, at each point.
[[nodiscard]] std::unique_ptr<strategy> random_strategy();
/// Probabilistic concurrency testing [Burckhardt et al. 2010]: random priorities, `depth - 1`
/// random points at which the running thread falls behind all others.
[[nodiscard]] std::unique_ptr<strategy> pct_strategy(unsigned depth);
/// The decisions given; then the running thread goes on as long as it can.
[[nodiscard]] std::unique_ptr<strategy> replay_strategy(schedule choices);

/// All interleavings with at most so many preemptions, one after the other; of those that differ
/// only in the order of independent steps, one (sleep sets [Godefroid 1996]; complete for two
/// threads).
///
/// A preemption takes the processor from a thread that could go on; bounding their number keeps the
/// search finite and misses little [Musuvathi and Qadeer 2007].
class exhaustive_strategy final : public strategy {
 public:
  /// Without `reduced`: all of them, equivalent ones too, for tests of the reduction.
  explicit exhaustive_strategy(unsigned preemptions, bool reduced = true)
      : bound_(preemptions), reduced_(reduced) {}
  /// From each state that `state` tells, each thread goes on once: any number of preemptions. For
  /// subjects whose whole state `state` knows.
  explicit exhaustive_strategy(std::function<std::uint64_t()> state)
      : bound_(~0U), reduced_(false), state_(std::move(state)) {}

  void begin(random source, unsigned threads, std::uint32_t horizon) override;
  [[nodiscard]] unsigned choose(std::span<const unsigned> runnable, unsigned current) override;
  [[nodiscard]] bool looks_ahead() const override { return reduced_; }
  void look(std::span<const intent> next) override { next_.assign(next.begin(), next.end()); }

  /// After an execution: prepares the next one. False if there is none left.
  [[nodiscard]] bool advance();
  /// Forgets everything: for a new scenario.
  void restart() {
    path_.clear();
    met_.clear();
  }
  /// The rest of this execution repeats another one: it need not be examined.
  [[nodiscard]] bool repeats() const noexcept { return repeats_; }

 private:
  struct node {
    std::vector<std::uint8_t> options;  // in the order in which they are tried
    std::size_t taken = 0;
  };

  void add_node(std::span<const unsigned> runnable, unsigned current);
  void follow(unsigned chosen, const node& at);
  [[nodiscard]] bool asleep(unsigned thread) const { return (asleep_ >> thread & 1) != 0; }

  unsigned bound_;
  bool reduced_;
  std::vector<node> path_;
  std::size_t at_ = 0;
  std::vector<intent> next_;
  std::uint64_t asleep_ = 0;  // threads whose next step was tried first, and nothing changed since
  unsigned preempted_ = 0;
  bool repeats_ = false;
  std::function<std::uint64_t()> state_;
  std::unordered_set<std::uint64_t> met_;  // states
};

}  // namespace outlast::verify
