// The handler of SIGSEGV.
//
// It is installed by the first backup and stays. A fault is delivered some time after the kernel
// has found it. If the handler were removed with the protection, a late delivery would end the
// process.
#include <outlast/base/error.hpp>
#include <outlast/pool/file/no_fork.hpp>
#include <src/pool/backup/write_faults.hpp>
#include <src/pool/file/file_calls.hpp>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace outlast::pool_detail {
namespace {

/// The place of a receiver. It keeps the range of its last receiver, for late deliveries.
struct receiver_place {
  std::atomic<fault_receiver*> receiver{nullptr};
  std::atomic<unsigned> inside{0};  ///< handlers that may use the receiver
  std::atomic<const std::byte*> begin{nullptr};
  std::atomic<const std::byte*> end{nullptr};

  [[nodiscard]] bool has_held(const std::byte* address) const noexcept {
    return address >= begin.load() && address < end.load();
  }
};

constinit std::array<receiver_place, 32> receiver_places;
constinit std::atomic<std::uint64_t> receivers_so_far{0};

/// A handler that was installed before ours. It is never freed, because a fault can use it at any
/// time. Equal handlers share an object, so that repeated backups need no more memory.
struct earlier_handler {
  struct sigaction action;
  const earlier_handler* next;
};
constinit std::atomic<const earlier_handler*> earlier_handlers{nullptr};  // all of them
constinit std::atomic<const struct sigaction*> handler_before{nullptr};   // the last one

/// The last fault at a writable address.
struct late_fault {
  std::atomic<std::uint64_t> thread{0};
  std::atomic<std::uint64_t> receivers{0};
  std::atomic<const std::byte*> address{nullptr};
};
constinit late_fault last_late;

/// Returns whether the same thread has not met the same fault just before. A store that is repeated
/// succeeds if the page is writable. Another fault, such as an instruction fetched from a pool,
/// would be repeated for ever.
bool is_first(const std::byte* address) noexcept {
  const auto thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  const std::uint64_t receivers = receivers_so_far.load();
  if (last_late.thread.load() == thread && last_late.receivers.load() == receivers &&
      last_late.address.load() == address) {
    return false;
  }
  last_late.thread.store(thread);
  last_late.receivers.store(receivers);
  last_late.address.store(address);
  return true;
}

/// Returns whether the fault is resolved, so that the store can be repeated.
bool resolve(const std::byte* address) noexcept {
  bool was_held = false;
  for (receiver_place& each : receiver_places) {
    was_held = was_held || each.has_held(address);
    each.inside.fetch_add(1);
    auto verdict = fault_receiver::verdict::not_mine;
    if (fault_receiver* const receiver = each.receiver.load()) {
      verdict = receiver->let_write(address);
    }
    each.inside.fetch_sub(1);
    if (verdict == fault_receiver::verdict::resolved) return true;
  }
  return was_held && is_first(address);
}

bool is_store([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
  constexpr greg_t bit_of_stores = 2;
  const auto* const machine = static_cast<const ucontext_t*>(context);
  return (machine->uc_mcontext.gregs[REG_ERR] & bit_of_stores) != 0;
#else
  return true;
#endif
}

void pass_on(int number, siginfo_t* info, void* context) noexcept {
  const struct sigaction* const before = handler_before.load();
  if ((before->sa_flags & SA_SIGINFO) != 0) {
    before->sa_sigaction(number, info, context);
    return;
  }
  const bool was_sent = info->si_code <= 0;  // by a process: the instruction does not fault again
  if (before->sa_handler == SIG_IGN && was_sent) return;
  if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
    before->sa_handler(number);
    return;
  }
  ::signal(number, SIG_DFL);
  if (was_sent) ::raise(number);
}

void on_fault(int number, siginfo_t* info, void* context) {
  const int errno_before = errno;
  const bool resolved = info->si_code == SEGV_ACCERR && is_store(context) &&
                        resolve(static_cast<const std::byte*>(info->si_addr));
  errno = errno_before;
  if (!resolved) pass_on(number, info, context);
}

bool are_equal(const struct sigaction& a, const struct sigaction& b) noexcept {
  return a.sa_flags == b.sa_flags && a.sa_handler == b.sa_handler;
}

/// Returns a copy of `action` that stays. Requires: no other thread calls it.
const struct sigaction* kept(const struct sigaction& action) {
  const earlier_handler* const newest = earlier_handlers.load();
  for (const earlier_handler* each = newest; each != nullptr; each = each->next) {
    if (are_equal(each->action, action)) return &each->action;
  }
  const auto* const added = new earlier_handler{action, newest};
  earlier_handlers.store(added);
  return &added->action;
}

/// Installs the handler, unless it is the present one.
void install() {
  struct sigaction present{};
  if (::sigaction(SIGSEGV, nullptr, &present) != 0) fail("", "read the handler of SIGSEGV", errno);
  if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == on_fault) return;
  handler_before.store(kept(present));
  struct sigaction mine{};
  mine.sa_sigaction = on_fault;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&mine.sa_mask);
  if (::sigaction(SIGSEGV, &mine, nullptr) != 0) fail("", "install a handler of SIGSEGV", errno);
}

/// The backups of the parent do not exist in the child.
void forget_all() {
  for (receiver_place& each : receiver_places) {
    each.receiver.store(nullptr);
    each.inside.store(0);
  }
}

// Before main, as in fork_locks.cpp.
[[maybe_unused]] const int forgets_in_child = ::pthread_atfork(nullptr, nullptr, forget_all);

}  // namespace

void receive_faults(fault_receiver& receiver) {
  const no_fork now;
  install();
  for (receiver_place& each : receiver_places) {
    if (each.receiver.load() != nullptr) continue;
    receivers_so_far.fetch_add(1);
    each.begin.store(receiver.begin());
    each.end.store(receiver.end());
    each.receiver.store(&receiver);
    return;
  }
  throw error(errc::refused, "",
              std::to_string(receiver_places.size()) +
                  " backups run in this process, the maximum; wait until one of them ends");
}

void stop_receiving_faults(fault_receiver& receiver) noexcept {
  for (receiver_place& each : receiver_places) {
    if (each.receiver.load() != &receiver) continue;
    each.receiver.store(nullptr);
    while (each.inside.load() != 0) ::sched_yield();
  }
}

}  // namespace outlast::pool_detail
