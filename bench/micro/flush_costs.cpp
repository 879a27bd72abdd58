// What a write-back and a fence cost here, in nanoseconds. The memory is ordinary: on persistent
// memory the same code measures the media as well.
#include <bench/micro/micro.hpp>

#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/hw/flush.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace outlast::bench {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t line_bytes = base::cache_line_size;
constexpr std::size_t block_bytes = 1024;

/// A line whose first word can be stored to.
struct alignas(line_bytes) line {
  std::atomic<std::uint64_t> word;
};

/// Zeroed, line-aligned, touched.
class line_array {
 public:
  explicit line_array(std::size_t count)
      : count_(count), lines_(new line[count]()), mask_(count - 1) {}

  /// Line `i` modulo the (power of two) number of lines.
  line& operator[](std::size_t i) const noexcept { return lines_[i & mask_]; }
  [[nodiscard]] std::byte* bytes() const noexcept {
    return reinterpret_cast<std::byte*>(lines_.get());
  }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return count_ * line_bytes; }

 private:
  std::size_t count_;
  std::unique_ptr<line[]> lines_;
  std::size_t mask_;
};

/// Nanoseconds that one of `rounds` calls of `body(i)` takes.
template <class Body>
double ns_per_round(std::uint32_t rounds, Body&& body) {
  const clock::time_point start = clock::now();
  for (std::uint32_t i = 0; i < rounds; ++i) body(i);
  const std::chrono::duration<double, std::nano> elapsed = clock::now() - start;
  return elapsed.count() / rounds;
}

class flush_costs {
 public:
  flush_costs(const micro_settings& settings, const micro_sink& sink)
      : sink_(sink),
        rounds_(settings.quick ? 2'000 : 50'000),
        repetitions_(settings.quick ? 3 : 11),
        cold_((settings.quick ? std::size_t{8} << 20 : std::size_t{256} << 20) / line_bytes) {}

  void measure() {
    fences();
    single_lines();
    for (const unsigned lines : {1U, 2U, 4U, 8U, 16U}) lines_per_fence(lines);
    locked_instructions();
    blocks();
  }

 private:
  template <class Body>
  void measure_rounds(const std::string& subject, Body&& body) {
    report_median(sink_, {.benchmark = "flush", .subject = subject, .unit = "ns"}, repetitions_,
                  [&] { return ns_per_round(rounds_, body); });
  }

  void store(std::size_t i) { warm_[i].word.store(i, std::memory_order_relaxed); }

  void fences() {
    measure_rounds("fence, nothing outstanding", [](std::uint32_t) { hw::store_fence(); });
  }

  void single_lines() {
    measure_rounds("store + flush + fence, the same line", [this](std::uint32_t) {
      store(0);
      hw::flush_line(&warm_[0]);
      hw::store_fence();
    });
    measure_rounds("store + flush + fence, changing lines", [this](std::uint32_t i) {
      store(i);
      hw::flush_line(&warm_[i]);
      hw::store_fence();
    });
    measure_rounds("flush + fence of a clean line", [this](std::uint32_t i) {
      hw::flush_line(&warm_[i]);
      hw::store_fence();
    });
    measure_rounds("store + flush + flush of the same line + fence", [this](std::uint32_t i) {
      store(i);
      hw::flush_line(&warm_[i]);
      hw::flush_line(&warm_[i]);
      hw::store_fence();
    });
  }

  void lines_per_fence(unsigned lines) {
    measure_rounds("store + flush of " + std::to_string(lines) + " lines + one fence",
                   [this, lines](std::uint32_t round) {
                     for (unsigned i = 0; i < lines; ++i) {
                       const std::size_t at = std::size_t{round} * lines + i;
                       store(at);
                       hw::flush_line(&warm_[at]);
                     }
                     hw::store_fence();
                   });
  }

  void locked_instructions() {
    measure_rounds("locked add",
                   [this](std::uint32_t) { other_.word.fetch_add(1, std::memory_order_seq_cst); });
    measure_rounds("store + flush + locked add elsewhere", [this](std::uint32_t i) {
      store(i);
      hw::flush_line(&warm_[i]);
      other_.word.fetch_add(1, std::memory_order_seq_cst);
    });
  }

  [[nodiscard]] std::byte* cold_block(std::uint32_t i) const noexcept {
    const std::size_t blocks = cold_.size_bytes() / block_bytes;
    return cold_.bytes() + (next_block_ + i) % blocks * block_bytes;
  }

  template <class Copy>
  void copy_blocks(const std::string& subject, std::uint32_t blocks_per_fence, Copy copy) {
    measure_rounds(subject + ", fence per " + std::to_string(blocks_per_fence) + " blocks",
                   [&, this](std::uint32_t i) {
                     copy(cold_block(i));
                     if (i % blocks_per_fence == blocks_per_fence - 1) hw::store_fence();
                   });
    hw::store_fence();
    next_block_ += rounds_;
  }

  void blocks() {
    for (const std::uint32_t batch : {1U, 64U}) {
      copy_blocks("stream a cold 1 KiB block", batch,
                  [this](std::byte* target) { hw::stream_copy(target, source_, block_bytes); });
      copy_blocks("memcpy + flush a cold 1 KiB block", batch, [this](std::byte* target) {
        std::memcpy(target, source_, block_bytes);
        for (std::size_t at = 0; at < block_bytes; at += line_bytes) hw::flush_line(target + at);
      });
    }
  }

  const micro_sink& sink_;
  std::uint32_t rounds_;
  unsigned repetitions_;
  line_array warm_{256};  // stays in the first-level cache
  line_array cold_;
  std::size_t next_block_ = 0;
  line other_{};
  alignas(line_bytes) std::byte source_[block_bytes]{};
};

}  // namespace

void measure_flush_costs(const micro_settings& settings, const micro_sink& sink) {
  if (hw::chosen_flush_instruction() == hw::flush_instruction::none) {
    throw error(errc::refused, "", "this machine has no write-back instruction to measure");
  }
  std::make_unique<flush_costs>(settings, sink)->measure();
}

}  // namespace outlast::bench
