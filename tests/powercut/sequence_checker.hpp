// The checker of stacks and queues whose process is killed while many threads use them.
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
  pop = 2,   ///< afterwards `key` is 1 and `value` the value, or `key` is 0 if there was none
};

enum class sequence_order { stack, queue };

/// Returns a value that contains the pushing thread. `serial` is below 2^58, and the values of a
/// thread grow with it.
[[nodiscard]] constexpr std::uint64_t value_of_thread(std::uint32_t thread,
                                                      std::uint64_t serial) noexcept {
  return std::uint64_t{thread} << 58 | serial;
}

/// Checks these rules for values that are pushed once each:
///   * a value that was popped or survives was pushed, and was popped or survives once;
///   * a pushed value that was neither popped nor survives was taken by a pop that did not return;
///   * the surviving values of one thread are in the order of their pushes, and in a queue they
///     were pushed after all popped values of the thread.
/// Survivors are in the order in which they would be popped.
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
