// Who runs next.
#pragma once

#include <outlast/verify/random.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace outlast::verify {

/// The decisions of one execution, where there was a choice: thread numbers.
using schedule = std::vector<std::uint8_t>;

/// "0*12 1*3 0": each thread with the number of decisions in a row that it won.
[[nodiscard]] std::string to_text(const schedule& choices);
/// The reverse. Throws error{bad_argument}.
[[nodiscard]] schedule schedule_from_text(const std::string& text);

/// Decides, at each scheduling point with more than one runnable thread, which one goes on.
class strategy {
 public:
  virtual ~strategy() = default;
  /// A new execution of `threads` threads that takes about `horizon` decisions.
  virtual void begin(random source, unsigned threads, std::uint32_t horizon) = 0;
  /// One of `runnable`. `current` is the running thread, or none's number.
  [[nodiscard]] virtual unsigned choose(std::span<const unsigned> runnable, unsigned current) = 0;
};

/// Each runnable thread with equal probability, at each point.
[[nodiscard]] std::unique_ptr<strategy> random_strategy();
/// Probabilistic concurrency testing [Burckhardt et al. 2010]: random priorities, `depth - 1`
/// random points at which the running thread falls behind all others.
[[nodiscard]] std::unique_ptr<strategy> pct_strategy(unsigned depth);
/// The decisions given; then the running thread goes on as long as it can.
[[nodiscard]] std::unique_ptr<strategy> replay_strategy(schedule choices);

}  // namespace outlast::verify
