// Fibers: switches of stacks on x86-64 and ARM64, and threads in their place.
#include <outlast/verify/machine/fiber.hpp>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <semaphore>
#include <thread>
#include <utility>

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define OUTLAST_FIBERS_WITH_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define OUTLAST_FIBERS_WITH_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OUTLAST_FIBERS_WITH_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define OUTLAST_FIBERS_WITH_TSAN 1
#endif
#endif

#if defined(OUTLAST_FIBERS_WITH_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(OUTLAST_FIBERS_WITH_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

// outlast_fiber_switch(void** save, void* load): saves the callee-saved registers on the running
// stack and that stack's pointer in *save, then does the reverse from `load`.
// outlast_fiber_start: first return address of a fiber; its function and argument are in registers.
extern "C" void outlast_fiber_switch(void** save, void* load);
extern "C" void outlast_fiber_start();

#if defined(__x86_64__)
asm(R"(
.text
.globl outlast_fiber_switch
.hidden outlast_fiber_switch
.type outlast_fiber_switch,@function
outlast_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size outlast_fiber_switch,.-outlast_fiber_switch
.globl outlast_fiber_start
.hidden outlast_fiber_start
.type outlast_fiber_start,@function
outlast_fiber_start:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  callq *%r13
  ud2
  .cfi_endproc
.size outlast_fiber_start,.-outlast_fiber_start
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl outlast_fiber_switch
.hidden outlast_fiber_switch
.type outlast_fiber_switch,%function
outlast_fiber_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size outlast_fiber_switch,.-outlast_fiber_switch
.globl outlast_fiber_start
.hidden outlast_fiber_start
.type outlast_fiber_start,%function
outlast_fiber_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #1
  .cfi_endproc
.size outlast_fiber_start,.-outlast_fiber_start
)");
#else
#error "Outlast's verifier supports x86-64 and ARM64 only"
#endif

namespace outlast::verify {
namespace {

/// The part of the C++ runtime's per-thread state that belongs to a stack.
struct exception_state {
  void* caught;
  unsigned uncaught;
};

exception_state& current_exception_state() {
  return *reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
}

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// What outlast_fiber_switch pops on the first visit.
void* first_frame(std::byte* top, void (*run)(void*), void* argument) {
#if defined(__x86_64__)
  auto* const frame = reinterpret_cast<void**>(top) - 9;  // 16-aligned at the first call
  for (int i = 0; i < 9; ++i) frame[i] = nullptr;
  frame[2] = reinterpret_cast<void*>(run);  // r13
  frame[3] = argument;                      // r12
  frame[6] = reinterpret_cast<void*>(&outlast_fiber_start);
#else
  auto* const frame = reinterpret_cast<void**>(top) - 20;
  for (int i = 0; i < 20; ++i) frame[i] = nullptr;
  frame[0] = argument;                                        // x19
  frame[1] = reinterpret_cast<void*>(run);                    // x20
  frame[11] = reinterpret_cast<void*>(&outlast_fiber_start);  // x30
#endif
  return frame;
}

}  // namespace

/// An operating-system thread that runs one body, or stands for the thread that made its fiber.
/// Held by its fiber and by itself: a body that is never resumed keeps it for ever.
struct fiber::os_thread {
  std::binary_semaphore turn{0};
};

fiber::fiber() : thread_(std::make_shared<os_thread>()) {}

fiber::fiber(std::size_t stack_bytes, threading how) : stack_bytes_(stack_bytes + page_size()) {
  if (how == threading::os_threads) {
    thread_ = std::make_shared<os_thread>();
    return;
  }
  void* const memory = ::mmap(nullptr, stack_bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<std::byte*>(memory);
  ::mprotect(stack_, page_size(), PROT_NONE);
}

fiber::~fiber() {
#if defined(OUTLAST_FIBERS_WITH_TSAN)
  if (stack_ != nullptr && race_detector_state_ != nullptr) {
    __tsan_destroy_fiber(race_detector_state_);
  }
#endif
  if (stack_ == nullptr) return;
#if defined(OUTLAST_FIBERS_WITH_ASAN)
  __asan_unpoison_memory_region(stack_ + page_size(), stack_bytes_ - page_size());
#endif
  ::munmap(stack_, stack_bytes_);
}

void fiber::prepare(entry run, void* argument) {
  run_ = run;
  argument_ = argument;
  if (stack_ == nullptr) {
    prepare_thread();
    return;
  }
  caught_exceptions_ = nullptr;
  uncaught_exceptions_ = 0;
#if defined(OUTLAST_FIBERS_WITH_ASAN)
  __asan_unpoison_memory_region(stack_ + page_size(), stack_bytes_ - page_size());
  sanitized_bottom_ = stack_ + page_size();
  sanitized_size_ = stack_bytes_ - page_size();
#endif
#if defined(OUTLAST_FIBERS_WITH_TSAN)
  if (race_detector_state_ != nullptr) __tsan_destroy_fiber(race_detector_state_);
  race_detector_state_ = __tsan_create_fiber(0);
#endif
  stack_pointer_ = first_frame(stack_ + stack_bytes_, &fiber::start, this);
}

/// Starts a thread for each body. The thread of the previous body has ended or waits for ever.
void fiber::prepare_thread() {
  thread_ = std::make_shared<os_thread>();
  std::thread([this, mine = thread_] {
    mine->turn.acquire();
    base::current_thread = context;
    run_(argument_).thread_->turn.release();
  }).detach();
}

void fiber::start(void* self) {
  auto& me = *static_cast<fiber*>(self);
  me.arrived();
#if defined(OUTLAST_FIBERS_WITH_ASAN)
  // The frames of earlier bodies are gone; their fake stack is used again.
  __asan_handle_no_return();
#endif
  leave(me, me.run_(me.argument_));
}

/// Announces the new stack to the sanitizers, before anything else runs on it.
void fiber::arrived() {
#if defined(OUTLAST_FIBERS_WITH_ASAN)
  fiber& from = *came_from_;
  __sanitizer_finish_switch_fiber(fake_stack_, &from.sanitized_bottom_, &from.sanitized_size_);
#endif
}

void fiber::switch_between(fiber& from, fiber& to) {
  if (from.stack_ == nullptr && to.stack_ == nullptr) {
    const std::shared_ptr<os_thread> mine = from.thread_;
    to.thread_->turn.release();
    mine->turn.acquire();
    return;
  }
  exception_state& exceptions = current_exception_state();
  from.caught_exceptions_ = exceptions.caught;
  from.uncaught_exceptions_ = exceptions.uncaught;
  exceptions = {to.caught_exceptions_, to.uncaught_exceptions_};
  base::current_thread = to.context;
  to.came_from_ = &from;
#if defined(OUTLAST_FIBERS_WITH_ASAN)
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.sanitized_bottom_, to.sanitized_size_);
#endif
#if defined(OUTLAST_FIBERS_WITH_TSAN)
  if (from.race_detector_state_ == nullptr) {
    from.race_detector_state_ = __tsan_get_current_fiber();
  }
  __tsan_switch_to_fiber(to.race_detector_state_, 0);
#endif
  outlast_fiber_switch(&from.stack_pointer_, to.stack_pointer_);
  from.arrived();
}

void fiber::leave(fiber& from, fiber& to) {
  switch_between(from, to);
  std::abort();  // no fiber resumes one that was left
}

}  // namespace outlast::verify
