// The stores of the simulated machine's threads that are not yet visible to other threads.
//
// There is one first-in, first-out buffer per thread, as in x86-TSO [Sewell et al. 2010]. The
// portable machine uses the same buffers, although weaker machines reorder more. The running thread
// sees its own stores: they are laid over live memory while it runs, and removed when another
// thread runs. A read through the domain or by a plain reference therefore returns a permitted
// value.
//
//   store  becomes visible to all threads when it leaves the buffer
//   flush  takes effect at the first moment that the machine permits: after the thread's last
//          earlier store to the line, and after its fences. Px86 [Raad et al. 2020] also permits
//          later moments, which only guarantee more.
//   fence  completes the flushes before it when it leaves the buffer; loads pass it
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace outlast::verify {

/// Number of a site in a `site_table`.
using site_id = std::uint16_t;

/// The order of a store relative to earlier stores to its line.
enum class store_kind : std::uint8_t {
  plain,
  release,
  streamed,
  cleared,  ///< to a counter that recovery clears; images that differ only in it are equal
};

/// One instruction that waits in a store buffer.
struct buffered {
  enum class instruction : std::uint8_t { store, flush, fence };

  instruction what;
  store_kind kind;    ///< of a store
  bool untorn;        ///< of a store
  bool outside;       ///< a store to memory outside of the simulated one
  std::uint8_t size;  ///< of a store: at most 16 bytes
  site_id site;
  std::byte* address;  ///< of a store or flush
  std::array<std::byte, 16> value;
  std::array<std::byte, 16> covered;  ///< the bytes under the store while it is laid over memory
};

/// The buffers of all threads.
/// Invariant: live memory shows the shared content and, laid over it, the stores of `viewer()`.
/// Thread-safety: none; the simulated memory owns it.
class store_buffers {
 public:
  /// A longer buffer drains by itself. This is sound and loses coverage. Flushes do not count.
  static constexpr std::size_t capacity = 8;

  explicit store_buffers(unsigned threads);

  [[nodiscard]] bool empty(unsigned thread) const noexcept { return queues_[thread].empty(); }
  [[nodiscard]] bool full(unsigned thread) const noexcept;
  [[nodiscard]] std::span<const buffered> of(unsigned thread) const noexcept {
    return queues_[thread];
  }
  [[nodiscard]] unsigned threads() const noexcept { return static_cast<unsigned>(queues_.size()); }
  [[nodiscard]] unsigned viewer() const noexcept { return viewer_; }

  /// Makes live memory show the state that `thread` sees.
  void look_as(unsigned thread);
  void push(unsigned thread, const buffered& entry);
  /// Inserts a flush at the first position that is permitted. Returns false if no entry delays it.
  [[nodiscard]] bool push_flush(unsigned thread, std::byte* address);
  /// Removes the oldest entry and returns it. Requires: the stores that affect it are lifted.
  [[nodiscard]] buffered pop(unsigned thread);

  /// Makes live memory show only the shared content.
  void lift();
  /// Makes live memory show the viewer's stores again.
  void lay();
  /// Do the same for the line of `address` only.
  void lift_line(const std::byte* address);
  void lay_line(const std::byte* address);
  /// Do the same for the simulated memory only, around a crash. Other memory keeps the stores that
  /// suspended threads see.
  void lift_simulated();
  void lay_simulated();
  /// Discards all entries. Requires: lift() was called.
  void drop();

 private:
  using queue = std::vector<buffered>;

  static void lay(buffered& entry);
  static void lift(const buffered& entry);

  std::vector<queue> queues_;
  unsigned viewer_ = 0;
};

}  // namespace outlast::verify
