// The instructions that move a cache line towards memory. With double_word.hpp, the only code of
// the project that names instructions.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

namespace outlast::hw {

/// The write-back instructions that Outlast can use.
enum class flush_instruction : unsigned char {
  none,        ///< the machine has none that reaches persistent memory
  clwb,        ///< x86-64: write back, keep the line, unordered until a fence
  clflushopt,  ///< x86-64: write back and evict, unordered until a fence
  clflush,     ///< x86-64: write back and evict, ordered with later stores
  dc_cvap,     ///< ARM64: clean to the point of persistence
  dc_cvac,     ///< ARM64: clean to the point of coherency: not persistent, for tests only
};

[[nodiscard]] std::string_view name_of(flush_instruction instruction) noexcept;

/// Returns the best instruction of this CPU, by CPUID or (ARM64) by a trial: an emulator may
/// announce `dc cvap` and trap on it.
[[nodiscard]] flush_instruction best_flush_instruction() noexcept;

/// Returns whether this CPU can run `instruction`.
[[nodiscard]] bool can_run(flush_instruction instruction) noexcept;

/// Returns the instruction that `flush_line` uses. It is chosen once at start: the best one, or the
/// one in the environment variable OUTLAST_FLUSH. A process may change it before it opens a pool.
[[nodiscard]] flush_instruction chosen_flush_instruction() noexcept;

/// Makes `flush_line` use `instruction`. Throws error{refused} if this CPU cannot run it. Requires:
/// no pool is open, and no other thread calls this.
void choose_flush_instruction(flush_instruction instruction);

namespace detail {
extern constinit std::atomic<flush_instruction> chosen;

/// Has no effect, except if OUTLAST_TOUCH_BEFORE_FLUSH is defined, for tests/instructions: then it
/// reads the line in a form that no compiler writes, because an emulator does not report which line
/// is written back.
inline void announce_flush([[maybe_unused]] const char* line) noexcept {
#if defined(__x86_64__) && defined(OUTLAST_TOUCH_BEFORE_FLUSH)
  asm volatile("testb $0, (%0)" : : "r"(line) : "memory", "cc");
#endif
}
}  // namespace detail

/// Starts the write-back of the line that holds `address`. Completed by `store_fence()`.
inline void flush_line(const void* address) noexcept {
  const flush_instruction instruction = detail::chosen.load(std::memory_order_relaxed);
#if defined(__x86_64__)
  auto* const line = const_cast<char*>(static_cast<const char*>(address));
  detail::announce_flush(line);
  if (instruction == flush_instruction::clwb) [[likely]] {
    asm volatile("clwb %0" : "+m"(*line) : : "memory");
  } else if (instruction == flush_instruction::clflushopt) {
    asm volatile("clflushopt %0" : "+m"(*line) : : "memory");
  } else {
    asm volatile("clflush %0" : "+m"(*line) : : "memory");
  }
#elif defined(__aarch64__)
  if (instruction == flush_instruction::dc_cvap) {
    asm volatile("sys #3, c7, c12, #1, %0" : : "r"(address) : "memory");
  } else {
    asm volatile("dc cvac, %0" : : "r"(address) : "memory");
  }
#else
#error "Outlast supports x86-64 and ARM64"
#endif
}

/// Waits until every line that this thread flushed, and every byte that it streamed, has left the
/// caches. Orders them and earlier stores before later stores.
inline void store_fence() noexcept {
#if defined(__x86_64__)
  asm volatile("sfence" : : : "memory");
#else
  asm volatile("dsb sy" : : : "memory");
#endif
}

/// Orders earlier stores before later ones as seen by other CPUs. Does not wait for a write-back.
/// Free on machines that never reorder stores.
inline void store_order() noexcept {
#if defined(__x86_64__)
  asm volatile("" : : : "memory");
#else
  asm volatile("dmb ishst" : : : "memory");
#endif
}

/// Keeps the compiler from moving memory accesses across this call.
inline void compiler_fence() noexcept { asm volatile("" : : : "memory"); }

/// Hints that the line of `address` will be read soon. Has no effect on results for any address.
/// GCC removes calls of functions whose only effect is __builtin_prefetch().
inline void prefetch(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
#else
  asm volatile("prfm pldl1keep, [%0]" : : "r"(address));
#endif
}

/// Hints that the line of `address` will be written soon, so that the CPU may fetch it. Has no
/// effect on results for any address.
inline void prefetch_for_write(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  asm volatile("prfm pstl1keep, [%0]" : : "r"(address));
#endif
}

/// Indicates to the CPU that this thread spins.
inline void pause() noexcept {
#if defined(__x86_64__)
  asm volatile("pause" : : : "memory");
#else
  asm volatile("yield" : : : "memory");
#endif
}

/// Copies `size` bytes past the caches if the CPU can. Requires: the ranges do not overlap, and the
/// same thread calls `store_fence()` before it publishes the bytes to a thread or to the media.
void stream_copy(void* destination, const void* source, std::size_t size) noexcept;

}  // namespace outlast::hw
