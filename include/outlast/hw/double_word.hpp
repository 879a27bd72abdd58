// Compare-and-swap of 16 bytes, inline: std::atomic calls a library for it, which may take a lock.
#pragma once

#include <outlast/base/word_pair.hpp>

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define OUTLAST_ANNOTATES_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OUTLAST_ANNOTATES_TSAN 1
#endif
#endif

#if defined(OUTLAST_ANNOTATES_TSAN)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace outlast::hw {

namespace detail {

/// ThreadSanitizer does not read assembly: annotations state the ordering of the exchange for both
/// words.
inline void annotate_before([[maybe_unused]] base::word_pair& at) noexcept {
#if defined(OUTLAST_ANNOTATES_TSAN)
  __tsan_release(&at.first);
  __tsan_release(&at.second);
#endif
}
inline void annotate_after([[maybe_unused]] base::word_pair& at) noexcept {
#if defined(OUTLAST_ANNOTATES_TSAN)
  __tsan_acquire(&at.first);
  __tsan_acquire(&at.second);
#endif
}

}  // namespace detail

/// Compares and exchanges both words. Strong: fails only if the pair holds another value, which
/// `expected` then receives; both words are of the same moment. Acquires and releases; on x86-64 it
/// is a full barrier. Lock-free. Requires: the address is a multiple of 16, and writable even if
/// the exchange fails.
inline bool compare_exchange_pair(base::word_pair& at, base::pair_value& expected,
                                  base::pair_value desired) noexcept {
  detail::annotate_before(at);
#if defined(__x86_64__)
  bool stored = false;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(stored), "+m"(at), "+a"(expected.first), "+d"(expected.second)
               : "b"(desired.first), "c"(desired.second)
               : "memory");
#elif defined(__aarch64__) && defined(__ARM_FEATURE_ATOMICS)
  register std::uint64_t seen_first asm("x0") = expected.first;
  register std::uint64_t seen_second asm("x1") = expected.second;
  register std::uint64_t new_first asm("x2") = desired.first;
  register std::uint64_t new_second asm("x3") = desired.second;
  asm volatile("caspal %0, %1, %3, %4, [%5]"
               : "+r"(seen_first), "+r"(seen_second), "+m"(at)
               : "r"(new_first), "r"(new_second), "r"(&at)
               : "memory");
  const bool stored = seen_first == expected.first && seen_second == expected.second;
  expected = {seen_first, seen_second};
#elif defined(__aarch64__)
  // What an exclusive pair load read is one moment's content only if the exclusive store after it
  // succeeds: where the pair differs, it is stored as it was. One statement: memory that a compiler
  // accessed between the two could end the reservation each time.
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t to_first = 0;
  std::uint64_t to_second = 0;
  std::uint32_t equal = 0;
  std::uint32_t lost = 0;
  asm volatile(
      "1: ldaxp %[first], %[second], [%[at]]\n\t"
      "cmp %[first], %[old_first]\n\t"
      "ccmp %[second], %[old_second], #0, eq\n\t"
      "csel %[to_first], %[new_first], %[first], eq\n\t"
      "csel %[to_second], %[new_second], %[second], eq\n\t"
      "cset %w[equal], eq\n\t"
      "stlxp %w[lost], %[to_first], %[to_second], [%[at]]\n\t"
      "cbnz %w[lost], 1b"
      : [first] "=&r"(first), [second] "=&r"(second), [to_first] "=&r"(to_first),
        [to_second] "=&r"(to_second), [equal] "=&r"(equal), [lost] "=&r"(lost)
      : [at] "r"(&at), [old_first] "r"(expected.first), [old_second] "r"(expected.second),
        [new_first] "r"(desired.first), [new_second] "r"(desired.second)
      : "cc", "memory");
  const bool stored = equal != 0;
  expected = {first, second};
#else
#error "Outlast supports x86-64 and ARM64"
#endif
  detail::annotate_after(at);
  return stored;
}

}  // namespace outlast::hw
