// The choice of the flush instruction, and copies past the caches.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/hw/flush.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <csetjmp>
#include <csignal>
#endif

namespace outlast::hw {
namespace {

constexpr std::array<std::string_view, 6> names = {"none",    "clwb",    "clflushopt",
                                                   "clflush", "dc_cvap", "dc_cvac"};

#if defined(__x86_64__)

bool cpuid_leaf7_ebx_bit(unsigned bit) noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> bit & 1U) != 0;
}

#else

sigjmp_buf probe_trap;

/// Runs `dc cvap` once with SIGILL caught: QEMU's user mode announces it and does not have it.
bool probe_dc_cvap() noexcept {
  static std::uint64_t target;
  struct sigaction trap = {};
  struct sigaction before = {};
  trap.sa_handler = [](int) { siglongjmp(probe_trap, 1); };
  sigaction(SIGILL, &trap, &before);
  const bool works = sigsetjmp(probe_trap, 1) == 0;
  if (works) asm volatile("sys #3, c7, c12, #1, %0" : : "r"(&target) : "memory");
  sigaction(SIGILL, &before, nullptr);
  return works;
}

#endif

flush_instruction named(std::string_view name) noexcept {
  const auto* const found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? flush_instruction::none
                              : static_cast<flush_instruction>(found - names.begin());
}

/// Runs before main, so that a flush needs no initialisation check.
[[maybe_unused]] const bool chosen_at_start = [] {
  flush_instruction choice = best_flush_instruction();
  if (const char* const wish = std::getenv("OUTLAST_FLUSH")) {
    if (const flush_instruction wished = named(wish); can_run(wished)) choice = wished;
  }
  detail::chosen.store(choice, std::memory_order_relaxed);
  return true;
}();

}  // namespace

namespace detail {
constinit std::atomic<flush_instruction> chosen{flush_instruction::none};
}

std::string_view name_of(flush_instruction instruction) noexcept {
  return names[static_cast<std::size_t>(instruction)];
}

bool can_run(flush_instruction instruction) noexcept {
  switch (instruction) {
#if defined(__x86_64__)
    case flush_instruction::clwb: return cpuid_leaf7_ebx_bit(24);
    case flush_instruction::clflushopt: return cpuid_leaf7_ebx_bit(23);
    case flush_instruction::clflush: return true;
#else
    case flush_instruction::dc_cvap: {
      static const bool works = probe_dc_cvap();
      return works;
    }
    case flush_instruction::dc_cvac: return true;
#endif
    default: return false;
  }
}

flush_instruction best_flush_instruction() noexcept {
  // dc_cvac is left out on purpose: it reaches coherency only, and must be chosen explicitly.
  for (const auto candidate : {flush_instruction::clwb, flush_instruction::clflushopt,
                               flush_instruction::clflush, flush_instruction::dc_cvap}) {
    if (can_run(candidate)) return candidate;
  }
  return flush_instruction::none;
}

flush_instruction chosen_flush_instruction() noexcept {
  return detail::chosen.load(std::memory_order_relaxed);
}

void choose_flush_instruction(flush_instruction instruction) {
  if (!can_run(instruction)) {
    throw error(errc::refused, "",
                "this CPU cannot run the flush instruction '" + std::string(name_of(instruction)) +
                    "'; leave the choice to Outlast or name another one");
  }
  detail::chosen.store(instruction, std::memory_order_relaxed);
}

void stream_copy(void* destination, const void* source, std::size_t size) noexcept {
#if defined(__x86_64__)
  auto* to = static_cast<std::byte*>(destination);
  const auto* from = static_cast<const std::byte*>(source);
  const std::size_t head = std::min(size, base::round_up(reinterpret_cast<std::uintptr_t>(to), 8) -
                                              reinterpret_cast<std::uintptr_t>(to));
  std::memcpy(to, from, head);
  if (head != 0) flush_line(to);
  to += head;
  from += head;
  size -= head;
  for (; size >= 8; size -= 8, to += 8, from += 8) {
    long long word = 0;
    std::memcpy(&word, from, 8);
    _mm_stream_si64(reinterpret_cast<long long*>(to), word);
  }
  std::memcpy(to, from, size);
  if (size != 0) flush_line(to);
#else
  std::memcpy(destination, source, size);
  const auto first = base::line_of(destination);
  const auto lines = base::lines_touched(destination, size);
  for (std::size_t i = 0; i < lines; ++i) {
    flush_line(reinterpret_cast<const void*>(first + i * base::cache_line_size));
  }
#endif
}

}  // namespace outlast::hw
