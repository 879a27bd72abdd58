// Processes of a test that read a pool while the test writes it, or the other way around.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/lockfree/reader.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/pool_reader.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast::test {

using number = std::uint64_t;
using std::chrono::milliseconds;

inline pool_options with_readers(unsigned readers = 16, unsigned patience_ms = 5000) {
  pool_options chosen;
  chosen.size_bytes = std::size_t{4} << 20;
  chosen.capacity_bytes = std::size_t{256} << 20;
  chosen.format_version = 2;
  chosen.max_readers = readers;
  chosen.reader_patience_ms = patience_ms;
  return chosen;
}

/// Words that parent and child share.
struct shared_words {
  std::atomic<bool> stop{false};
  std::atomic<number> ready{0};
  std::atomic<number> count{0};
};

class shared_memory {
 public:
  shared_memory()
      : words_(::new(::mmap(nullptr, sizeof(shared_words), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0)) shared_words) {}
  ~shared_memory() { ::munmap(static_cast<void*>(words_), sizeof(shared_words)); }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  shared_words* operator->() const noexcept { return words_; }

 private:
  shared_words* words_;
};

/// A child that runs `body` and exits with its result; 99 after an exception.
class process {
 public:
  explicit process(const std::function<int()>& body) : id_(::fork()) {
    if (id_ != 0) return;
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "child: %s\n", failure.what());
    }
    ::_exit(status);
  }
  ~process() {
    if (id_ <= 0) return;
    send(SIGKILL);
    (void)end();
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  void send(int signal) const { ::kill(id_, signal); }
  /// Waits for the end and returns the exit status, or 128 and the signal.
  int end() {
    int status = 0;
    ::waitpid(std::exchange(id_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void wait_until_stopped() const {
    int status = 0;
    ::waitpid(id_, &status, WUNTRACED);
  }

 private:
  pid_t id_;
};

template <class Condition>
bool eventually(Condition&& holds) {
  for (int i = 0; i < 20000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

template <class Action>
std::optional<errc> failure_of(Action&& action) {
  try {
    action();
  } catch (const error& failure) {
    return failure.reason();
  }
  return std::nullopt;
}

template <class Action>
std::string sentence_of(Action&& action) {
  try {
    action();
  } catch (const error& failure) {
    return failure.what();
  }
  return "";
}

/// Keys 1 to `stable` stay, with values that are multiples of `unit` plus the key. Greater keys
/// come and go.
inline constexpr number stable = 64;
inline constexpr number churned = 256;
inline constexpr number unit = 1000;

template <class Map>
void fill(Map& map) {
  for (number key = 1; key <= stable; ++key) map.insert(key, key);
}

/// Changes all keys once.
template <class Map>
void change(Map& map, number round) {
  for (number key = stable + 1; key <= churned; ++key) {
    if (round % 2 == 0) {
      map.insert(key, round * unit + key);
    } else {
      map.erase(key);
    }
  }
  for (number key = 1; key <= stable; key += 3) map.update(key, round * unit + key);
}

/// Returns 0 if everything that the reader finds is right.
template <class View>
int look(const View& view, number round) {
  const number key = 1 + round * 7 % churned;
  const std::optional<number> found = view.get(key);
  if (!found && key <= stable) return 1;
  if (found && *found % unit != key) return 2;
  if (key <= stable && !view.contains(key)) return 3;
  return 0;
}

template <class View>
int look_until(const View& view, shared_memory& shared) {
  for (number round = 0; !shared->stop; ++round) {
    if (const int wrong = look(view, round)) return wrong;
    ++shared->count;
  }
  return 0;
}

/// Reads until the parent stops it.
template <class Map>
int read_until(const std::string& path, shared_memory& shared) {
  pool_reader reader(path);
  const lockfree::reader<Map> view(reader, "map");
  ++shared->ready;
  return look_until(view, shared);
}

}  // namespace outlast::test
