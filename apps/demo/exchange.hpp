// The messages between the demo's parent and its children: plain words in shared memory.
#pragma once

#include <apps/demo/child_process.hpp>
#include <apps/demo/words.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace outlast::apps::demo {

inline constexpr std::uint32_t max_threads = 64;

/// The task of a child.
enum class task : std::uint32_t {
  ingest,   ///< open, show what survived, ingest until killed or until the end of the stream
  measure,  ///< throughput compared with a transient table, counts of flushes and fences
};

/// Deliberate faults, which tests use to show that the demo detects losses.
enum class sabotage : std::uint32_t {
  none,
  lose,    ///< one update of each round is acknowledged without being made
  repeat,  ///< replayed words are counted again
};

/// The progress of a child.
enum class stage : std::uint32_t {
  starting,
  ready,     ///< the pool is open and the table recovered
  shown,     ///< the surviving entries are in the shared memory
  finished,  ///< the end of the stream is reached and the pool closed, or the measurement made
  failed,    ///< `message` has the cause
};

/// One word of the map, as a child found it.
struct survivor {
  word_key key;
  std::uint64_t packed = 0;
};
static_assert(sizeof(survivor) == 56);

/// Results of a `task::measure`; a negative value was not measured.
struct figures {
  double mops = -1;
  double ratio_to_transient = -1;
  double flushes_per_op = -1;
  double fences_per_op = -1;
};

/// The progress of one thread: every word that it owns up to this position is in the map, durably.
/// The thread stores it after the operation has returned; 0 before the first.
struct alignas(64) acknowledgement {
  std::atomic<std::uint64_t> position{0};
  std::byte padding[56]{};
};

/// The header of the shared memory. The text and the space for the survivors follow.
struct exchange_header {
  // Written by the parent while no child runs.
  task what = task::ingest;
  sabotage fault = sabotage::none;
  std::uint32_t subject = 0;
  std::uint32_t threads = 1;
  std::uint64_t text_bytes = 0;
  std::uint64_t survivors_room = 0;
  std::uint64_t pool_bytes = 0;
  std::uint64_t stop_after = 0;  ///< the last position of the stream
  /// the distance before its acknowledgement at which a thread restarts
  std::uint64_t replay_bytes = 0;
  bool go = true;       ///< false: copy the surviving entries, then wait for the kill
  char folder[1024]{};  ///< the directory of the pools
  // Written by the child.
  std::atomic<stage> reached{stage::starting};
  std::uint32_t reserved = 0;
  std::uint64_t recovery_ns = 0;  ///< from opening the pool to the table ready
  std::uint64_t survivors_found = 0;
  figures measured;
  char message[1024]{};
  acknowledgement acknowledged[max_threads];
};

/// A handle of the shared memory and its parts. Thread-safe to the extent that the header's fields
/// are.
class exchange {
 public:
  /// Creates the memory in the parent, with space for `text` and for a map of `words` words.
  exchange(std::string_view text, std::size_t words)
      : memory_(shared_memory::create(bytes_needed(text.size(), words))) {
    new (memory_.data()) exchange_header;
    header().text_bytes = text.size();
    header().survivors_room = words;
    std::memcpy(memory_.data() + text_offset, text.data(), text.size());
  }
  /// Maps the memory in a child.
  explicit exchange(int descriptor) : memory_(shared_memory::attach(descriptor)) {}

  [[nodiscard]] int descriptor() const noexcept { return memory_.descriptor(); }
  [[nodiscard]] exchange_header& header() const noexcept {
    return *std::launder(reinterpret_cast<exchange_header*>(memory_.data()));
  }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(memory_.data() + text_offset), header().text_bytes};
  }
  /// Returns the space for all survivors. The first `survivors_found` are filled.
  [[nodiscard]] std::span<survivor> survivors() const noexcept {
    return {reinterpret_cast<survivor*>(memory_.data() + survivors_offset(header().text_bytes)),
            header().survivors_room};
  }

 private:
  static constexpr std::size_t text_offset = (sizeof(exchange_header) + 63) / 64 * 64;
  static std::size_t survivors_offset(std::size_t text_bytes) noexcept {
    return text_offset + (text_bytes + 63) / 64 * 64;
  }
  static std::size_t bytes_needed(std::size_t text_bytes, std::size_t words) noexcept {
    return survivors_offset(text_bytes) + words * sizeof(survivor);
  }

  shared_memory memory_;
};

/// Copies `text`, truncated if necessary, into a field of the header.
template <std::size_t Size>
void put_text(char (&field)[Size], std::string_view text) noexcept {
  const std::size_t length = text.size() < Size ? text.size() : Size - 1;
  std::memcpy(field, text.data(), length);
  field[length] = '\0';
}

}  // namespace outlast::apps::demo
