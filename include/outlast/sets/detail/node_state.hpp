// The state of a node, in one word that survives: whether the set has the node's key.
//
//            allocate          linked               marked
//   (any) ------------> none ----------> live(s) ------------> dead(s) --- reuse ---> none
//                                           |     erased
//                                           |
//                                           |  the replacement, live(s') with s' > s, is durable
//                                           +-------------> superseded --- reuse ---> none
//
// For each key, recovery selects the node with the greatest stamp s, dead ones included. A stamp is
// drawn after its node was linked and before its first state is stored. It comes from a count that
// is never lowered while the media contain an older stamp: so of two versions of a key the later
// one has the greater stamp. Every arrow is one store to one line, and reaches the media before the
// next: whichever of them survive, the line has a state that it had at some moment.
//
// The states live and dead each have a mark "durable": a flush of this very state was waited for.
// It spares other threads the flush. Recovery ignores it, and reuse clears it.
#pragma once

#include <cstdint>

namespace outlast::sets::detail {

/// The part of a version's state that is durable, for lookups that do not wait.
enum class phase : std::uint8_t {
  not_yet,  ///< nothing: the insertion is not complete
  current,  ///< "live", whatever the state is now; a replacement counts if its link is marked
  over,     ///< "dead"
};

/// The word. On media: docs/formats/sets.md.
class node_state {
 public:
  constexpr explicit node_state(std::uint64_t word) noexcept : word_(word) {}
  [[nodiscard]] static constexpr node_state none() noexcept { return node_state(0); }
  [[nodiscard]] static constexpr node_state superseded() noexcept { return node_state(state_mask); }
  /// No process draws this number of stamps.
  static constexpr std::uint64_t greatest_stamp = std::uint64_t{1} << 60;
  /// `stamp`: at least 1, less than 2^61.
  [[nodiscard]] static constexpr node_state live(std::uint64_t stamp) noexcept {
    return node_state(stamp << stamp_shift | live_state);
  }
  /// The version is over.
  [[nodiscard]] constexpr node_state dead() const noexcept {
    return node_state(stamp() << stamp_shift | dead_state);
  }
  [[nodiscard]] constexpr node_state durable() const noexcept {
    return node_state(word_ | durable_bit);
  }

  [[nodiscard]] constexpr bool is_none() const noexcept { return word_ == 0; }
  [[nodiscard]] constexpr bool is_live() const noexcept { return state() == live_state; }
  [[nodiscard]] constexpr bool is_dead() const noexcept { return state() == dead_state; }
  [[nodiscard]] constexpr bool is_superseded() const noexcept { return state() == state_mask; }
  [[nodiscard]] constexpr bool is_durable() const noexcept { return (word_ & durable_bit) != 0; }
  /// Returns the stamp of a live or dead node.
  [[nodiscard]] constexpr std::uint64_t stamp() const noexcept { return word_ >> stamp_shift; }
  /// For a node that is buried only after "live" was durable, and superseded only by a durable
  /// version.
  [[nodiscard]] constexpr phase seen() const noexcept {
    if (is_dead()) return is_durable() ? phase::over : phase::current;
    return is_superseded() || (is_live() && is_durable()) ? phase::current : phase::not_yet;
  }
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  friend constexpr bool operator==(node_state, node_state) = default;

 private:
  static constexpr std::uint64_t live_state = 1;
  static constexpr std::uint64_t dead_state = 2;
  static constexpr std::uint64_t state_mask = 3;
  static constexpr std::uint64_t durable_bit = 4;
  static constexpr unsigned stamp_shift = 3;

  [[nodiscard]] constexpr std::uint64_t state() const noexcept { return word_ & state_mask; }

  std::uint64_t word_;
};

}  // namespace outlast::sets::detail
