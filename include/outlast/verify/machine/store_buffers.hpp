// What the threads of the simulated machine have stored and nobody else sees yet.
//
// One first-in, first-out buffer per thread, as x86-TSO has them [Sewell et al. 2010]; the same
// serves the portable machine, which may do more than that and is not searched for it. The running
// thread sees its own stores: they are laid over live memory while it runs, and lifted when another
// runs. So whoever reads, through the domain or by a plain reference, reads what he may see.
//
//   store  becomes visible to all when it leaves the buffer
//   flush  takes effect at the first moment at which the machine allows it: behind the thread's
//          last earlier store to the line, and behind its fences. Px86 [Raad et al. 2020] also has
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

/// How a store is ordered behind earlier stores to its line.
enum class store_kind : std::uint8_t {
  plain,
  release,
  streamed,
  cleared,  ///< to a counter that recovery clears: images that differ in it alone are alike
};

/// One instruction that waits in a store buffer.
struct buffered {
  enum class instruction : std::uint8_t { store, flush, fence };

  instruction what;
  store_kind kind;    ///< of a store
  bool untorn;        ///< of a store
  bool outside;       ///< a store to memory that is not the simulated one
  std::uint8_t size;  ///< of a store: at most 16 bytes
  site_id site;
  std::byte* address;  ///< of a store or flush
  std::array<std::byte, 16> value;
  std::array<std::byte, 16> covered;  ///< what the store is laid over, while it is
};

/// The buffers of all threads. Thread-safety: none; the simulated memory owns it.
/// Invariant: live memory shows the shared content and, laid over it, what `viewer()` has stored.
class store_buffers {
 public:
  /// Longer buffers drain by themselves: sound, loses coverage. Flushes do not count.
  static constexpr std::size_t capacity = 8;

  explicit store_buffers(unsigned threads);

  [[nodiscard]] bool empty(unsigned thread) const noexcept { return queues_[thread].empty(); }
  [[nodiscard]] bool full(unsigned thread) const noexcept;
  [[nodiscard]] std::span<const buffered> of(unsigned thread) const noexcept {
    return queues_[thread];
  }
  [[nodiscard]] unsigned threads() const noexcept { return static_cast<unsigned>(queues_.size()); }
  [[nodiscard]] unsigned viewer() const noexcept { return viewer_; }

  /// From now on live memory shows what `thread` sees.
  void look_as(unsigned thread);
  void push(unsigned thread, const buffered& entry);
  /// Puts a flush where it takes effect first. False if nothing in the buffer delays it.
  [[nodiscard]] bool push_flush(unsigned thread, std::byte* address);
  /// Takes the oldest entry out. Lifted, where that matters to the entry.
  [[nodiscard]] buffered pop(unsigned thread);

  /// Shows the shared content alone.
  void lift();
  /// Shows the viewer's stores again.
  void lay();
  /// The same for the line of `address` alone.
  void lift_line(const std::byte* address);
  void lay_line(const std::byte* address);
  /// The same for the simulated memory alone, around a crash: it has nothing to do with what
  /// suspended threads see of theirs.
  void lift_simulated();
  void lay_simulated();
  /// Forgets everything that waits. Lifted.
  void drop();

 private:
  using queue = std::vector<buffered>;

  static void lay(buffered& entry);
  static void lift(const buffered& entry);

  std::vector<queue> queues_;
  unsigned viewer_ = 0;
};

}  // namespace outlast::verify
