// The checkers of killed buffered structures: survivors must be the state at the end of an epoch.
#pragma once

#include <tests/powercut/harness.hpp>
#include <tests/powercut/sequence_checker.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace outlast::test::powercut {

/// An operation of any thread after which all operations that have returned survive. Afterwards
/// `value` is the epoch in which it began.
inline constexpr std::uint64_t sync_epochs = 200;

/// Adds to the code of an operation that has returned the epoch in which it took effect. 0: it
/// changed nothing.
[[nodiscard]] constexpr std::uint64_t with_epoch(std::uint64_t what, std::uint64_t epoch) noexcept {
  return what | epoch << 8;
}
[[nodiscard]] constexpr std::uint64_t code_of(const operation& done) noexcept {
  return done.what & 0xff;
}
[[nodiscard]] constexpr std::uint64_t epoch_of(const operation& done) noexcept {
  return done.what >> 8;
}

/// The epochs at whose end a crash may have cut, according to the results of the threads.
///
/// Invariants that it finds broken: epochs of a thread never decrease; what returned before a sync
/// of its thread began is of no later epoch than the sync.
class epoch_bounds {
 public:
  void returned(std::uint32_t thread, const operation& done);
  /// The survivors are the truth; only later epochs count from now on.
  void settled() noexcept { synced_ = newest_ = 0; }

  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }
  /// The last epoch in which anything is known to have happened, or was synced.
  [[nodiscard]] std::uint64_t last() const noexcept { return std::max(newest_, synced_); }
  /// What a sync that has returned promises, and the clock anyway: two epochs are lost at most,
  /// three while a sync runs.
  [[nodiscard]] std::uint64_t first() const noexcept {
    return std::max(synced_, newest_ < 3 ? 0 : newest_ - 3);
  }

 private:
  std::string complaint_;
  std::uint64_t synced_ = 0;
  std::uint64_t newest_ = 0;
  std::array<std::uint64_t, 64> newest_of_{};  // by thread
};

/// The checker of buffered maps, whose keys belong to one thread each. Operations: map_operation.
/// The end of one epoch must explain all survivors, except for operations that had not returned.
class buffered_map_checker final : public checker {
 public:
  [[nodiscard]] std::unique_ptr<checker> clone() const override;
  void returned(std::uint32_t thread, const operation& done) override;
  void interrupted(std::uint32_t thread, const operation& begun) override;
  [[nodiscard]] std::string compare(std::span<const entry> survivors) override;

 private:
  using value = std::optional<std::uint64_t>;
  struct version {
    std::uint64_t epoch;
    value now;
  };
  using content = std::unordered_map<std::uint64_t, std::uint64_t>;

  [[nodiscard]] value at_end_of(std::uint64_t epoch, std::uint64_t key) const;
  /// What contradicts that the survivors are the state at the end of the epoch; empty if nothing.
  [[nodiscard]] std::string contradiction(std::uint64_t epoch, const content& found) const;
  [[nodiscard]] bool explained(std::uint64_t epoch, std::uint64_t key, value found) const;

  epoch_bounds bounds_;
  content before_;
  std::unordered_map<std::uint64_t, std::vector<version>> since_;  // by key
  std::unordered_map<std::uint64_t, operation> pending_;           // by key
};

/// The checker of buffered queues and stacks of values from value_of_thread(). Operations:
/// sequence_operation. There must be one epoch at whose end the structure held the survivors, in
/// their order and, in a queue, without a gap, but for what had not returned. Survivors are shown
/// in the order in which they would be popped.
class buffered_sequence_checker : public checker {
 public:
  explicit buffered_sequence_checker(sequence_order order) : order_(order) {}

  [[nodiscard]] std::unique_ptr<checker> clone() const override;
  void returned(std::uint32_t thread, const operation& done) override;
  void interrupted(std::uint32_t thread, const operation& begun) override;
  [[nodiscard]] std::string compare(std::span<const entry> survivors) override;

 private:
  using values = std::vector<std::uint64_t>;  // the oldest first
  using set = std::unordered_set<std::uint64_t>;

  [[nodiscard]] std::string disorder(const values& found) const;
  [[nodiscard]] std::string contradiction(std::uint64_t epoch, const set& found) const;
  /// Walks one source of values in its order: which are missing, and whether one that is there was
  /// pushed before one that is gone.
  [[nodiscard]] std::string walk(const values& source, std::uint64_t epoch, const set& found,
                                 std::size_t& missing, bool& any_is_there) const;
  [[nodiscard]] bool was_pushed(std::uint64_t value, std::uint64_t epoch) const;
  [[nodiscard]] bool was_popped(std::uint64_t value, std::uint64_t epoch) const;

  sequence_order order_;
  epoch_bounds bounds_;
  std::string complaint_;
  values before_;
  std::array<values, 64> since_;                                // by thread
  std::unordered_map<std::uint64_t, std::uint64_t> pushed_in_;  // value to epoch
  std::unordered_map<std::uint64_t, std::uint64_t> popped_in_;
  set being_pushed_;            // by operations that have not returned
  std::size_t pops_begun_ = 0;  // that have not returned
};

struct buffered_queue_checker : buffered_sequence_checker {
  buffered_queue_checker() : buffered_sequence_checker(sequence_order::queue) {}
};
struct buffered_stack_checker : buffered_sequence_checker {
  buffered_stack_checker() : buffered_sequence_checker(sequence_order::stack) {}
};

}  // namespace outlast::test::powercut
