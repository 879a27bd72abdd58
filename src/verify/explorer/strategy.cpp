// The strategies: random, probabilistic, replaying and exhaustive.
#include <outlast/verify/explorer/strategy.hpp>

#include <outlast/base/error.hpp>

#include <algorithm>
#include <sstream>

namespace outlast::verify {
namespace {

class uniform final : public strategy {
 public:
  void begin(random source, unsigned, std::uint32_t) override { source_ = source; }
  unsigned choose(std::span<const unsigned> runnable, unsigned) override {
    return runnable[source_.below(runnable.size())];
  }

 private:
  random source_{0};
};

class pct final : public strategy {
 public:
  explicit pct(unsigned depth) : depth_(std::max(depth, 1U)) {}

  void begin(random source, unsigned threads, std::uint32_t horizon) override {
    priorities_.resize(threads);
    for (unsigned t = 0; t < threads; ++t) priorities_[t] = static_cast<int>(t) + 1;
    for (unsigned t = threads - 1; t > 0; --t) {
      std::swap(priorities_[t], priorities_[source.below(t + 1)]);
    }
    changes_.resize(depth_ - 1);
    for (std::uint32_t& change : changes_) {
      change = static_cast<std::uint32_t>(source.below(std::max<std::uint32_t>(horizon, 1)));
    }
    lowest_ = 0;
    step_ = 0;
  }

  unsigned choose(std::span<const unsigned> runnable, unsigned current) override {
    const bool change = std::find(changes_.begin(), changes_.end(), step_++) != changes_.end();
    if (change && current < priorities_.size()) priorities_[current] = --lowest_;
    return *std::max_element(runnable.begin(), runnable.end(), [this](unsigned a, unsigned b) {
      return priorities_[a] < priorities_[b];
    });
  }

 private:
  unsigned depth_;
  std::vector<int> priorities_;
  std::vector<std::uint32_t> changes_;
  int lowest_ = 0;
  std::uint32_t step_ = 0;
};

class replay final : public strategy {
 public:
  explicit replay(schedule choices) : choices_(std::move(choices)) {}

  void begin(random, unsigned, std::uint32_t) override { at_ = 0; }
  unsigned choose(std::span<const unsigned> runnable, unsigned current) override {
    const unsigned wish = at_ < choices_.size() ? choices_[at_++] : current;
    const auto* const found = std::find(runnable.data(), runnable.data() + runnable.size(), wish);
    return found == runnable.data() + runnable.size() ? runnable.front() : wish;
  }

 private:
  schedule choices_;
  std::size_t at_ = 0;
};

/// Returns true if the order of `done` and `waiting` matters.
bool matters_to(const intent& done, const intent& waiting) {
  if (waiting.boundary) return true;
  // The position of an invocation among other threads' steps is decided when it is chosen.
  if (done.boundary && done.line == 0) return false;
  if (!done.writes && !waiting.writes) return false;
  const bool somewhere_volatile = done.line == 0 || waiting.line == 0;
  if (somewhere_volatile) return !done.persistent && !waiting.persistent;
  return done.line == waiting.line;
}

}  // namespace

std::string to_text(const schedule& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size();) {
    std::size_t run = 1;
    while (i + run < choices.size() && choices[i + run] == choices[i]) ++run;
    if (!text.empty()) text += ' ';
    text += std::to_string(choices[i]);
    if (run > 1) text += '*' + std::to_string(run);
    i += run;
  }
  return text;
}

schedule schedule_from_text(const std::string& text) {
  schedule choices;
  std::istringstream in(text);
  unsigned thread = 0;
  while (in >> thread) {
    std::size_t run = 1;
    if (in.good() && in.peek() == '*') in.ignore() >> run;
    if (in.fail() || run > 1'000'000 || thread > 255) break;
    choices.insert(choices.end(), run, static_cast<std::uint8_t>(thread));
  }
  if (in.eof()) return choices;
  throw error(errc::bad_argument, "", "a schedule reads like \"0*12 1*3 0\", not \"" + text + '"');
}

void exhaustive_strategy::begin(random, unsigned, std::uint32_t) {
  at_ = 0;
  asleep_ = 0;
  preempted_ = 0;
  repeats_ = false;
}

unsigned exhaustive_strategy::choose(std::span<const unsigned> runnable, unsigned current) {
  if (at_ == path_.size()) add_node(runnable, current);
  const node& here = path_[at_++];
  const unsigned chosen = here.options[here.taken];
  if (chosen != current && runnable.front() == current) ++preempted_;
  follow(chosen, here);
  return chosen;
}

/// Adds the running thread first, then the others that the bound and the sleep set permit.
void exhaustive_strategy::add_node(std::span<const unsigned> runnable, unsigned current) {
  node& made = path_.emplace_back();
  if (state_) repeats_ = repeats_ || !met_.insert(state_()).second;
  if (state_ && repeats_) {
    made.options.push_back(static_cast<std::uint8_t>(runnable.front()));
    return;
  }
  const bool goes_on = runnable.front() == current;
  for (const unsigned thread : runnable) {
    const bool preempts = goes_on && thread != current;
    if (asleep(thread) || (preempts && preempted_ == bound_)) continue;
    made.options.push_back(static_cast<std::uint8_t>(thread));
  }
  if (!made.options.empty()) return;
  repeats_ = true;
  made.options.push_back(static_cast<std::uint8_t>(runnable.front()));
}

/// A step that was tried here before sleeps until a dependent step is taken.
void exhaustive_strategy::follow(unsigned chosen, const node& at) {
  if (!reduced_) return;
  for (std::size_t i = 0; i < at.taken; ++i) asleep_ |= std::uint64_t{1} << at.options[i];
  for (unsigned t = 0; t < next_.size(); ++t) {
    if (t == chosen || matters_to(next_[chosen], next_[t])) asleep_ &= ~(std::uint64_t{1} << t);
  }
}

bool exhaustive_strategy::advance() {
  while (!path_.empty() && ++path_.back().taken == path_.back().options.size()) path_.pop_back();
  return !path_.empty();
}

std::unique_ptr<strategy> random_strategy() { return std::make_unique<uniform>(); }
std::unique_ptr<strategy> pct_strategy(unsigned depth) { return std::make_unique<pct>(depth); }
std::unique_ptr<strategy> replay_strategy(schedule choices) {
  return std::make_unique<replay>(std::move(choices));
}

}  // namespace outlast::verify
