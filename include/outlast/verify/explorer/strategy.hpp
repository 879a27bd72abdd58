// The strategies that choose which thread runs next.
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

/// The decisions of one execution with more than one choice, as thread numbers.
using schedule = std::vector<std::uint8_t>;

/// Returns a text such as "0*12 1*3 0": each thread with its number of consecutive decisions.
[[nodiscard]] std::string to_text(const schedule& choices);
/// Returns the schedule of such a text. Throws error{bad_argument} if the text is malformed.
[[nodiscard]] schedule schedule_from_text(const std::string& text);

/// The next step of a thread, with enough detail to determine which other steps do not depend on
/// it.
struct intent {
  std::uint64_t line = 0;  ///< address / 64 of the access; 0: several volatile places
  bool writes = true;
  bool persistent = false;  ///< the line is one of the simulated memory
  /// An invocation, or a fence that guarantees something. Earlier steps of other threads affect the
  /// checkers or a crash, whatever lines they touched.
  bool boundary = false;
};

/// Decides, at each scheduling point with more than one runnable thread, which thread continues.
class strategy {
 public:
  virtual ~strategy() = default;
  /// Begins a new execution of `threads` threads that takes about `horizon` decisions.
  virtual void begin(random source, unsigned threads, std::uint32_t horizon) = 0;
  /// Returns one of `runnable`. `current` is the running thread, or a number that is no thread's.
  [[nodiscard]] virtual unsigned choose(std::span<const unsigned> runnable, unsigned current) = 0;

  /// Returns true if the strategy needs the next steps of the threads, and decisions only where the
  /// choice can matter.
  [[nodiscard]] virtual bool looks_ahead() const { return false; }
  /// Receives the next step of each thread before `choose`. Called only if looks_ahead().
  virtual void look(std::span<const intent> next) { static_cast<void>(next); }
};

/// Returns a strategy that chooses each runnable thread with equal probability at each point.
[[nodiscard]] std::unique_ptr<strategy> random_strategy();
/// Returns probabilistic concurrency testing [Burckhardt et al. 2010]: random priorities, and
/// `depth - 1` random points at which the running thread receives the lowest priority.
[[nodiscard]] std::unique_ptr<strategy> pct_strategy(unsigned depth);
/// Returns a strategy that repeats `choices`. Then the running thread continues while it can.
[[nodiscard]] std::unique_ptr<strategy> replay_strategy(schedule choices);

/// Enumerates all interleavings up to a number of preemptions. Of interleavings that differ only in
/// the order of independent steps it explores one (sleep sets [Godefroid 1996]; complete for two
/// threads).
///
/// A preemption takes the processor from a thread that could continue. A bound on their number
/// keeps the search finite and misses few errors [Musuvathi and Qadeer 2007].
class exhaustive_strategy final : public strategy {
 public:
  /// If `reduced` is false, explores equivalent interleavings too, for tests of the reduction.
  explicit exhaustive_strategy(unsigned preemptions, bool reduced = true)
      : bound_(preemptions), reduced_(reduced) {}
  /// Continues each thread once from each state that `state` returns, with any number of
  /// preemptions. Requires: `state` depends on the whole state of the subject.
  explicit exhaustive_strategy(std::function<std::uint64_t()> state)
      : bound_(~0U), reduced_(false), state_(std::move(state)) {}

  void begin(random source, unsigned threads, std::uint32_t horizon) override;
  [[nodiscard]] unsigned choose(std::span<const unsigned> runnable, unsigned current) override;
  [[nodiscard]] bool looks_ahead() const override { return reduced_; }
  void look(std::span<const intent> next) override { next_.assign(next.begin(), next.end()); }

  /// Prepares the next execution after one has ended. Returns false if none is left.
  [[nodiscard]] bool advance();
  /// Clears all state, for a new scenario.
  void restart() {
    path_.clear();
    met_.clear();
  }
  /// Returns true if the rest of this execution repeats another one.
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
