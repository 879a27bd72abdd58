// An operator new that fails where a test wants it to. For one translation unit of a program: it
// replaces the functions of the run-time library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace outlast::test {

/// Which calls of one thread fail.
struct failing_calls {
  std::size_t first = 0;         ///< the first that fails; 0: none
  bool all_that_follow = false;  ///< or this one alone
  std::size_t calls = 0;         ///< so far
  bool met = false;              ///< has one failed?
};

/// The calling thread's; null: all succeed. It is used up to the end of the thread.
inline constinit thread_local failing_calls* calls_to_fail = nullptr;

/// Runs `work`; it may meet a failure.
template <class Work>
void try_to(Work&& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
  }
}

/// Runs `work`, and no call fails meanwhile.
template <class Work>
void without_failures(Work&& work) {
  failing_calls* const plan = std::exchange(calls_to_fail, nullptr);
  work();
  calls_to_fail = plan;
}

inline void* allocate_or_fail(std::size_t size, std::size_t align) {
  if (failing_calls* const plan = calls_to_fail) {
    ++plan->calls;
    if (plan->calls == plan->first || (plan->all_that_follow && plan->calls > plan->first)) {
      plan->met = true;
      throw std::bad_alloc();
    }
  }
  const std::size_t whole = (std::max<std::size_t>(size, 1) + align - 1) / align * align;
  void* const memory =
      align <= alignof(std::max_align_t) ? std::malloc(whole) : std::aligned_alloc(align, whole);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace outlast::test

void* operator new(std::size_t size) {
  return outlast::test::allocate_or_fail(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return outlast::test::allocate_or_fail(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t align) {
  return outlast::test::allocate_or_fail(size, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t size, std::align_val_t align) {
  return outlast::test::allocate_or_fail(size, static_cast<std::size_t>(align));
}
// Not inlined: g++ would compare std::free() with the operator that it sees at the allocation.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
