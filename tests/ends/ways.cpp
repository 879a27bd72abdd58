#include <tests/ends/ways.hpp>

#include <outlast/base/error.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/pool/file/test_hooks.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast::test::ends {
namespace {

namespace fs = std::filesystem;

constexpr u64 some = 20;        // keys that are written before anything happens
constexpr unsigned limit = 20;  // seconds

void put_some(const incarnation& in) {
  for (u64 i = 0; i < some; ++i) in.put_next();
}

void open(incarnation& in) {
  in.used->open(in.file(), true);
  put_some(in);
}

void close(const incarnation& in) {
  put_some(in);
  in.used->close();
}

/// Runs `body` in a child. Its exit status has to be 0.
template <class Body>
void in_child(const incarnation& in, Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(limit);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status == 0) return;
  throw std::runtime_error("the child ended with " + std::to_string(status) + " at " +
                           in.seen->step);
}

/// The child's own, beside its parent's; at the same address, if that can be chosen.
int use_own(const incarnation& in, std::uintptr_t address) {
  const std::string path = in.directory + "/of-child-" + std::to_string(::getpid());
  for (const bool make : {true, false}) {
    const auto own = make_subject(in.family, in.domain);
    in.note(make ? "making its own" : "opening its own");
    own->open(path, make, address);
    for (u64 key = 1; key <= some; ++key) {
      if (make) own->put(key, key);
      if (own->get(key) != key) return 3;
    }
    in.note("closing its own");
    own->close();
  }
  fs::remove_all(path);
  return 0;
}

// ---- Forks ----

int fork_and_call(incarnation& in) {
  open(in);
  in_child(in, [&] {
    for (const public_call& each : in.used->calls()) {
      in.note(each.name);
      if (!each.is_refused()) return 2;
    }
    return 0;
  });
  close(in);
  return 0;
}

int fork_and_use_own(incarnation& in) {
  open(in);
  const std::uintptr_t address = in.used->address();
  in_child(in, [&] { return use_own(in, address); });
  close(in);
  return 0;
}

/// Destroyed by exit(), in parent and child.
struct holder {
  std::unique_ptr<subject> held;
  const incarnation* of = nullptr;
  bool closes = false;

  holder() = default;
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;
  ~holder() {
    if (held == nullptr || !closes) return;
    try {
      close(*of);
    } catch (const std::exception& failure) {
      std::cerr << "in a static destructor: " << failure.what() << '\n';
      ::_exit(5);
    }
  }
};
/// Constructed before all that has no priority of its own, and so destroyed last.
[[gnu::init_priority(101)]] holder first_born;
holder last_born;

int fork_and_exit(incarnation& in) {
  last_born.held.reset(in.used);
  open(in);
  in_child(in, [&]() -> int {
    in.note("exit()");
    std::exit(0);
  });
  close(in);
  return 0;
}

/// A writer and a reader, until the object ends.
class busy_threads {
 public:
  explicit busy_threads(const incarnation& in)
      : writer_([this, &in] {
          while (!over_.load()) in.put_next();
        }),
        reader_([this, &in] {
          for (u64 key = 1; !over_.load(); key = key % some + 1) {
            if (in.used->get(key) != 10 * key) ::_exit(6);
          }
        }) {}
  ~busy_threads() {
    over_.store(true);
    writer_.join();
    reader_.join();
  }
  busy_threads(const busy_threads&) = delete;
  busy_threads& operator=(const busy_threads&) = delete;

  void detach() {
    writer_.detach();
    reader_.detach();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread writer_;
  std::thread reader_;
};

class slow_device final : public pool_detail::log_device {
 public:
  int sync(const std::string& path, int file) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return log_device::sync(path, file);
  }
};

int fork_while_busy(incarnation& in) {
  // Most forks find a thread that waits for the device.
  static slow_device device;
  if (in.domain == "logged_file") pool_detail::test_hooks().device = &device;
  open(in);
  {
    const busy_threads others(in);
    for (int i = 0; i < 10; ++i) {
      in_child(in, [&] {
        in.note("a call");
        const auto calls = i % 2 == 0 ? std::vector<public_call>() : in.used->calls();
        if (!calls.empty() && !calls[static_cast<std::size_t>(i) % calls.size()].is_refused()) {
          return 2;
        }
        in.note("the destructor");
        delete std::exchange(in.used, nullptr);
        return i % 5 == 0 ? use_own(in, 0) : 0;
      });
    }
  }
  close(in);
  return 0;
}

class failing_device final : public pool_detail::log_device {
 public:
  int sync(const std::string& path, int file) override {
    return fails ? EIO : log_device::sync(path, file);
  }
  bool fails = false;
};

/// A child's pool has no part in what its parent's device reported.
int fork_after_an_error(incarnation& in) {
  static failing_device device;
  if (in.domain == "logged_file") pool_detail::test_hooks().device = &device;
  open(in);
  device.fails = true;
  domain::file::fail_next_syncs(1, EIO);
  const u64 kept = in.seen->acknowledged.load();
  bool has_failed = false;
  for (int i = 0; i < 2000 && !has_failed; ++i) {
    try {
      in.put_next();
    } catch (const std::exception&) {
      has_failed = true;
    }
  }
  domain::file::fail_next_syncs(0, EIO);
  device.fails = false;
  if (!has_failed) throw std::runtime_error("the device did not fail");
  in.seen->acknowledged.store(kept);
  const std::uintptr_t address = in.used->address();
  in_child(in, [&] { return use_own(in, address); });
  ::_exit(0);
}

int execute(incarnation& in) {
  open(in);
  in_child(in, [&]() -> int {
    ::execl("/proc/self/exe", "process_ends", "descriptors", in.directory.c_str(), nullptr);
    return 9;
  });
  close(in);
  return 0;
}

// ---- Ends ----

int end_with_statics(incarnation& in) {
  first_born.held.reset(in.used);
  first_born.of = &in;
  first_born.closes = true;
  open(in);
  return 0;
}

incarnation* of_handlers = nullptr;

int end_with_handler(incarnation& in) {
  of_handlers = &in;
  std::atexit([] { close(*of_handlers); });
  open(in);
  return 0;
}

struct late_user {
  const incarnation* of = nullptr;

  late_user() = default;
  late_user(const late_user&) = delete;
  late_user& operator=(const late_user&) = delete;
  ~late_user() {
    if (of == nullptr) return;
    try {
      of->put_next();
      if (of->used->get(1) != 10) ::_exit(6);
    } catch (const std::exception& failure) {
      std::cerr << "in a thread's destructor: " << failure.what() << '\n';
      ::_exit(5);
    }
  }
};
thread_local late_user used_at_the_end;

int end_threads(incarnation& in) {
  used_at_the_end.of = &in;
  open(in);
  const std::size_t before = base::registered_threads();
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      used_at_the_end.of = &in;
      in.put_next();
    }).join();
  }
  // Some may have begun that are the library's own.
  if (base::registered_threads() > before + 3) throw std::runtime_error("threads stay registered");
  return 0;
}

int exit_elsewhere(incarnation& in) {
  open(in);
  std::thread([&] {
    while (in.seen->acknowledged.load() < 5 * some) std::this_thread::yield();
    std::exit(0);
  }).detach();
  for (;;) in.put_next();
}

int quick_exit(incarnation& in) {
  open(in);
  of_handlers = &in;
  std::at_quick_exit([] {
    if (of_handlers->used->get(1) != 10) ::_exit(6);
  });
  busy_threads others(in);
  while (in.seen->acknowledged.load() < 5 * some) std::this_thread::yield();
  std::quick_exit(0);
}

int exit_immediately(incarnation& in) {
  open(in);
  const busy_threads others(in);
  while (in.seen->acknowledged.load() < 5 * some) std::this_thread::yield();
  ::_exit(0);
}

/// The process ends with its last thread.
int end_main_alone(incarnation& in) {
  open(in);
  std::thread([&in] {
    for (u64 i = 0; i < 5 * some; ++i) in.put_next();
    std::exit(0);
  }).detach();
  ::pthread_exit(nullptr);
}

}  // namespace

void incarnation::put_next() const {
  const u64 key = seen->acknowledged.load() + 1;
  // So many that the space is never used up.
  constexpr u64 different = 2000;
  used->put((key - 1) % different + 1, 10 * ((key - 1) % different + 1));
  used->keep();
  seen->acknowledged.store(key);
}

void incarnation::note(std::string_view step) const {
  const std::size_t length = std::min(step.size(), sizeof seen->step - 1);
  std::memcpy(seen->step, step.data(), length);
  seen->step[length] = '\0';
}

const std::vector<way>& all_ways() {
  static const std::vector<way> all = {
      {"calls", "a forked child tries every call", true, fork_and_call},
      {"own", "a forked child uses one of its own", true, fork_and_use_own},
      {"exit", "a forked child leaves by exit()", true, fork_and_exit},
      {"busy", "children are forked while threads work", true, fork_while_busy},
      {"error", "a forked child uses its own after the parent's device failed", false,
       fork_after_an_error},
      {"exec", "a forked child executes another program", true, execute},
      {"static", "a static object uses and closes it", true, end_with_statics},
      {"atexit", "a handler of atexit() uses and closes it", true, end_with_handler},
      {"thread", "thread_local objects use it in their destructors", false, end_threads},
      {"other", "exit() by another thread than the one that works", false, exit_elsewhere},
      {"quick", "quick_exit() while threads work", false, quick_exit},
      {"_exit", "_exit() while threads work", false, exit_immediately},
      {"main", "main() ends its thread before another one ends the process", false, end_main_alone},
  };
  return all;
}

std::string check_incarnation(const incarnation& ended, bool closed) {
  ended.used->open(ended.file(), false);
  if (closed && ended.used->was_dirty()) return "it was not closed";
  const u64 acknowledged = ended.seen->acknowledged.load();
  if (acknowledged < some) return "too little was done";
  for (u64 key = 1; key <= std::min<u64>(acknowledged, 2000); ++key) {
    const std::optional<u64> found = ended.used->get(key);
    if (found != 10 * key) {
      return "key " + std::to_string(key) + " of " + std::to_string(acknowledged) + " is " +
             (found ? std::to_string(*found) : "gone");
    }
  }
  ended.used->put(1, 10);
  ended.used->close();
  return {};
}

}  // namespace outlast::test::ends
