// The judge of stacks and queues that many threads use and that are killed.
#pragma once

#include <tests/powercut/harness.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>

namespace outlast::test::powercut {

/// Operations of stacks and queues.
enum sequence_operation : std::uint64_t {
  push = 1,  ///< puts in `value`
  pop = 2,   ///< afterwards `key` says whether there was a value, and `value` which
};

enum class sequence_order { stack, queue };

/// A value that tells who pushed it; those of a thread grow with `serial`, below 2^58.
[[nodiscard]] constexpr std::uint64_t value_of_thread(std::uint32_t thread,
                                                      std::uint64_t serial) noexcept {
  return std::uint64_t{thread} << 58 | serial;
}

/// Demands, of values that are pushed once each:
///   * what comes out or survives was pushed, and comes out or survives once;
///   * what was pushed and neither came out nor survived was taken by a pop that got no answer;
///   * of the values of one thread, those that survive lie in the order of the pushes, and in a
///     queue all of them were pushed after all that are gone.
/// Survivors are shown in the order in which they would be popped.
class sequence_checker final : public checker {
 public:
  explicit sequence_checker(sequence_order order) : order_(order) {}

  [[nodiscard]] std::unique_ptr<checker> clone() const override;
  void returned(std::uint32_t thread, const operation& done) override;
  void interrupted(std::uint32_t thread, const operation& begun) override;
  [[nodiscard]] std::string compare(std::span<const entry> survivors) override;

 private:
  using values = std::unordered_set<std::uint64_t>;

  [[nodiscard]] std::string disorder(std::span<const entry> survivors) const;
  void note_gone(std::uint64_t value);

  sequence_order order_;
  values present_;                        // pushed for sure, not popped for sure
  values unexplained_;                    // popped, and its push has not been seen
  values being_pushed_;                   // by an operation that did not return
  std::size_t pops_begun_ = 0;            // that did not return
  std::array<std::uint64_t, 64> gone_{};  // by thread: the last value that came out, plus one
};

}  // namespace outlast::test::powercut
