// What a node says about its key, in one word that survives.
//
//            allocate          linked               marked
//   (any) ------------> none ----------> live(s) ------------> dead(s) --- reuse ---> none
//                                           |     erased
//                                           |
//                                           |  the replacement, live(s') with s' > s, is durable
//                                           +-------------> superseded --- reuse ---> none
//
// Recovery believes, per key, the node with the greatest stamp s; dead ones count. A stamp is drawn
// after its node was linked and before it says anything, from a count that is never lowered while
// anything on the media carries an older one: so of two versions of a key the later one has the
// greater stamp. Every arrow is one store to one line, and reaches the media before the next:
// whatever of them survives, the line says what it said at some moment.
//
// Each of live and dead comes with a mark "durable", which says that a flush of this very verdict
// was waited for. It spares others the flush. Recovery ignores it, and reuse clears it.
#pragma once

#include <cstdint>

namespace outlast::sets::detail {

/// What of a version's verdict is durable, as far as a lookup cares that waits for nothing.
enum class phase : std::uint8_t {
  not_yet,  ///< nothing: the version is to be, if nothing comes between
  current,  ///< "live", whatever it says by now; if its link is marked as replaced, see there
  over,     ///< "dead"
};

/// The word. On media: docs/formats/sets.md.
class node_state {
 public:
  constexpr explicit node_state(std::uint64_t word) noexcept : word_(word) {}
  [[nodiscard]] static constexpr node_state none() noexcept { return node_state(0); }
  [[nodiscard]] static constexpr node_state superseded() noexcept { return node_state(state_mask); }
  /// Nobody draws so many in a lifetime.
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
  /// Of a live or dead one.
  [[nodiscard]] constexpr std::uint64_t stamp() const noexcept { return word_ >> stamp_shift; }
  /// Of a node that is buried only after "live" was durable, and superseded only by what is.
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
