// The domain of files with a redo log: a thread's notes of lines, and per pool the queue in which
// fences of several threads share a batch of the log.
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/fork_locks.hpp>
#include <outlast/base/group_commit.hpp>
#include <outlast/domain/logged_file.hpp>
#include <src/base/immortal.hpp>
#include <src/domain/notes.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::domain {
namespace {

constexpr std::size_t line = base::cache_line_size;
/// Pools in files begin at multiples of this, so that no range extends from one pool into the next.
constexpr std::size_t pool_alignment = std::size_t{2} << 20;

std::uintptr_t end_of(const line_range& range) noexcept { return range.first + range.lines * line; }

bool precedes(const line_range& a, const line_range& b) noexcept { return a.first < b.first; }

/// The ranges of one thread are sorted already, and most batches are of one thread.
void sort(std::vector<line_range>& ranges) {
  if (std::is_sorted(ranges.begin(), ranges.end(), precedes)) return;
  std::sort(ranges.begin(), ranges.end(), precedes);
}

/// Sorts the ranges, and joins duplicates and neighbours.
void sort_and_join(std::vector<line_range>& ranges) {
  sort(ranges);
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const std::uintptr_t end = end_of(ranges[last]);
    if (ranges[i].first > end) {
      ranges[++last] = ranges[i];
    } else if (end_of(ranges[i]) > end) {
      ranges[last].lines = (end_of(ranges[i]) - ranges[last].first) / line;
    }
  }
  if (!ranges.empty()) ranges.resize(last + 1);
}

/// Empties the vector, and keeps at most 4 MiB of memory for the next batch.
template <class T>
void forget(std::vector<T>& all) noexcept {
  if (all.capacity() > (std::size_t{4} << 20) / sizeof(T)) std::vector<T>().swap(all);
  all.clear();
}

/// The fences of one pool, by group commit: the leader appends one batch for all threads that wait.
class commit_queue {
 public:
  commit_queue(const void* base, std::size_t size, std::string path, line_log& log)
      : base_(reinterpret_cast<std::uintptr_t>(base)),
        size_(size),
        path_(std::move(path)),
        log_(log),
        process_(::getpid()) {}

  [[nodiscard]] bool is_at(const void* base) const noexcept {
    return base_ == reinterpret_cast<std::uintptr_t>(base);
  }
  /// Returns false in the child of a fork, where the memory does not exist.
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    return address >= base_ && address - base_ < size() && process_ == ::getpid();
  }
  /// Returns the end of its addresses.
  [[nodiscard]] std::uintptr_t end() const noexcept { return base_ + size(); }
  /// Called before any of the new addresses is used. The thread that uses one has received it from
  /// the thread that calls this, and therefore sees the new size.
  void extend(std::size_t size) noexcept { size_.store(size, std::memory_order_relaxed); }
  [[nodiscard]] bool poisoned() {
    const std::lock_guard lock(mutex_);
    return error_number_ != 0;
  }
  [[nodiscard]] log_counters counters() const noexcept { return log_.counters(); }

  /// Makes the lines durable. Throws error{io_failure}; out_of_space, after which the next batch
  /// has the lines too; other std::bad_alloc, with the same effect or none.
  void commit(std::span<const line_range> lines) {
    wait_for(with_mutex([&] {
      add(lines);
      return ++asked_;
    }));
  }

  /// Like commit(), without waiting.
  void stage(std::span<const line_range> lines) {
    const std::lock_guard lock(mutex_);
    add(lines);
  }

  /// See logged_file::publish().
  void publish(const word_store& what) {
    caller me;
    wait_for(with_mutex([&] {
      require_intact();
      return what.lines.empty() ? ask_for(*what.word, what.value, me) : ask_for(what, me);
    }));
    if (me.refused != 0) throw_refused(me.refused);
  }

  [[nodiscard]] bool provide(std::uint64_t lines) {
    return log_.provide(lines + 1);  // the word's
  }

  [[nodiscard]] std::byte* map_through(std::uintptr_t first, std::size_t bytes) {
    return log_.map_through(first, bytes);
  }
  void own(const owned_part& part, std::uint64_t owner) { log_.own(part, owner); }
  void disown(std::uint64_t owner) noexcept { log_.disown(owner); }
  void sync_through() {
    (void)while_intact([this] { return log_.sync_through(); });
  }

  void checkpoint() {
    const int failed = while_intact([this] { return log_.checkpoint(); });
    if (failed == line_log::no_room) throw_refused(failed);
  }
  /// A checkpoint without room is left for later.
  void relieve() {
    (void)while_intact([this] { return log_.relieve(); });
  }

 private:
  /// A thread that waits for a word, on its stack. Guarded by the mutex.
  struct caller {
    int refused = 0;  ///< reason why the word was refused
    caller* next = nullptr;
  };
  /// A word that waits for its batch.
  struct waiting_word {
    word_store what;
    caller* callers;
    int refused = 0;  ///< written by the leader
  };

  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

  /// With the mutex.
  void add(std::span<const line_range> lines) {
    require_intact();
    // Reserves room for the lines that a refused batch may leave.
    const std::size_t needed = waiting_.size() + lines.size() + batch_size_;
    if (waiting_.capacity() < needed) waiting_.reserve(2 * needed);
    waiting_.insert(waiting_.end(), lines.begin(), lines.end());
  }

  template <class Work>
  std::invoke_result_t<Work> with_mutex(Work&& work) {
    const std::lock_guard lock(mutex_);
    return work();
  }

  /// Returns once the request is durable. A request whose batch was refused leaves only after that
  /// batch, which may hold content that the caller has lent to it.
  void wait_for(std::uint64_t request) {
    group_.until([&] { return is_durable(request) || is_refused(request); }, [&] { lead(); });
    if (is_durable(request)) return;
    throw_refused(with_mutex([&] { return reason_; }));
  }
  [[nodiscard]] bool is_durable(std::uint64_t request) const noexcept {
    // (2) acquire; synchronizes-with (1).
    return durable_.load(std::memory_order_acquire) >= request;
  }
  [[nodiscard]] bool is_refused(std::uint64_t request) const noexcept {
    // (4) acquire; synchronizes-with (3).
    return refused_.load(std::memory_order_acquire) >= request;
  }

  /// With the mutex: returns the request to wait for until `word` durably has `value`, or a later
  /// one.
  [[nodiscard]] std::uint64_t ask_for(std::atomic<std::uint64_t>& word, std::uint64_t value,
                                      caller& me) {
    for (waiting_word& each : batch_words_) {
      if (each.what.word != &word || each.what.value < value) continue;
      me.next = std::exchange(each.callers, &me);
      return served_;
    }
    for (waiting_word& each : waiting_words_) {
      if (each.what.word != &word) continue;
      each.what.value = std::max(each.what.value, value);
      me.next = std::exchange(each.callers, &me);
      return ++asked_;
    }
    // A leader gives it values, and no batch under way has this one.
    if (word.load(std::memory_order_relaxed) >= value) return 0;
    return ask_for({&word, value, {}}, me);
  }
  /// With the mutex.
  [[nodiscard]] std::uint64_t ask_for(const word_store& what, caller& me) {
    waiting_words_.push_back({what, &me});
    return ++asked_;
  }

  /// Returns the result of `work`: 0, or a refusal. Throws error{io_failure} before it and after
  /// it.
  template <class Work>
  int while_intact(Work&& work) {
    {
      const std::lock_guard lock(mutex_);
      require_intact();
    }
    const int failed = work();
    const std::lock_guard lock(mutex_);
    note(failed);
    require_intact();
    return failed;
  }

  /// With the mutex. The first error stays.
  void note(int failed) noexcept {
    if (error_number_ == 0 && !is_refusal(failed)) error_number_ = failed;
  }

  /// In the leader alone.
  void lead() {
    with_mutex([&] {
      require_intact();
      take_waiting();
      served_ = asked_;
    });
    const int failed = without_memory([&] { return append(); });
    with_mutex([&] { end_batch(failed); });
    group_.release_followers();  // they do not wait for the rest
    forget(all_);
    if (failed != 0) return;
    const int untidied = without_memory([&] { return log_.tidy(); });
    with_mutex([&] { note(untidied); });
  }
  /// With the mutex.
  void end_batch(int failed) noexcept {
    forget_words(failed);
    if (is_refusal(failed)) {
      // The lines stay for the next batch: later lines may depend on them.
      reason_ = failed;
      // (3) release; synchronizes-with (4): words and callers have their results.
      refused_.store(served_, std::memory_order_release);
    } else {
      forget(batch_);
      // (1) release; synchronizes-with (2): words and callers have their results.
      if (failed == 0) durable_.store(served_, std::memory_order_release);
      note(failed);
    }
    batch_size_ = batch_.size();
  }

  /// With the mutex.
  void take_waiting() noexcept {
    if (!waiting_.empty()) {
      waiting_.insert(waiting_.end(), batch_.begin(), batch_.end());  // add() made the room
      forget(batch_);
      batch_.swap(waiting_);
    }
    batch_size_ = batch_.size();
    batch_words_.swap(waiting_words_);
  }
  /// With the mutex. Reports a refusal to the threads whose word was refused.
  void forget_words(int failed) noexcept {
    for (const waiting_word& each : batch_words_) {
      const int refused = is_refusal(failed) ? failed : each.refused;
      for (caller* one = each.callers; one != nullptr; one = one->next) one->refused = refused;
    }
    batch_words_.clear();
  }

  /// Appends one batch of all waiting lines and words if there is room. Otherwise lines come before
  /// the words that refer to them, and words with lines of their own follow one by one: if one of
  /// these finds no room, the others can.
  [[nodiscard]] int append() {
    sort_and_join(batch_);
    const auto has_lines = [](const waiting_word& each) { return !each.what.lines.empty(); };
    int failed = append_with(batch_, [](const waiting_word&) { return true; });
    if (failed != line_log::no_room || batch_words_.empty()) return failed;
    failed = append_with(batch_, [](const waiting_word&) { return false; });
    if (failed == 0) failed = append_with({}, [&](const auto& each) { return !has_lines(each); });
    if (failed != 0) return failed;
    for (waiting_word& each : batch_words_) {
      if (!has_lines(each)) continue;
      failed = without_memory(
          [&] { return append_with({}, [&](const auto& other) { return &other == &each; }); });
      if (is_refusal(failed)) {
        each.refused = failed;
      } else if (failed != 0) {
        return failed;
      }
    }
    return 0;
  }
  /// Appends `lines`, and the words that are `wanted` with their lines.
  template <class Wanted>
  [[nodiscard]] int append_with(std::span<const line_range> lines, Wanted&& wanted) {
    if (batch_words_.empty()) return log_.append(lines, {});
    all_.assign(lines.begin(), lines.end());
    all_words_.clear();
    for (const waiting_word& each : batch_words_) {
      if (wanted(each)) add_word(each);
    }
    if (all_.empty()) return 0;
    sort_and_join(all_);
    return log_.append(all_, all_words_);
  }
  void add_word(const waiting_word& one) {
    for (const line_store& each : one.what.lines) all_.push_back({base::line_of(each.line), 1});
    all_.push_back({base::line_of(one.what.word), 1});
    all_words_.push_back(one.what);
  }
  /// A batch for which memory is exhausted has no effect, like one without room.
  static constexpr int no_memory = -2;
  static_assert(no_memory != line_log::no_room);
  [[nodiscard]] static constexpr bool is_refusal(int failed) noexcept {
    return failed == line_log::no_room || failed == no_memory;
  }
  template <class Work>
  [[nodiscard]] static int without_memory(Work&& work) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return no_memory;
    }
  }

  [[noreturn]] void throw_refused(int reason) const {
    if (reason == no_memory) throw std::bad_alloc();
    throw out_of_space(path_ +
                       ": the file system has no room for the next batch of the pool's log; "
                       "make room there, and try again");
  }

  /// With the mutex.
  void require_intact() const {
    if (error_number_ == 0) return;
    throw error(errc::io_failure, path_,
                "the device reported '" + std::generic_category().message(error_number_) +
                    "' while the pool's log was written; the pool accepts no more writes: close "
                    "it, check the device and its free space, and open it again, which recovers "
                    "what was acknowledged");
  }

  std::uintptr_t base_;
  std::atomic<std::size_t> size_;
  std::string path_;
  line_log& log_;
  pid_t process_;
  std::mutex mutex_;
  base::group_commit group_{base::group_commit::start::immediate};
  std::vector<line_range> waiting_;
  std::vector<line_range> batch_;  // the leader's; later the lines of a refused batch
  std::size_t batch_size_ = 0;     // of batch_, at least
  std::vector<waiting_word> waiting_words_;
  std::vector<waiting_word> batch_words_;  // the leader's; others read it with the mutex
  std::vector<line_range> all_;            // the leader's: batch_, and the lines of words
  std::vector<word_store> all_words_;      // the leader's
  std::uint64_t asked_ = 0;
  std::uint64_t served_ = 0;  // by the last batch, or the one under way
  std::atomic<std::uint64_t> durable_{0};
  std::atomic<std::uint64_t> refused_{0};  // up to here, except durable requests; without effect
  int reason_ = 0;                         // of the last refusal
  int error_number_ = 0;
};

using all_queues = base::immortal<std::vector<std::shared_ptr<commit_queue>>>;
constinit all_queues queues;

/// The parent's queues are left as they are: threads that do not exist here may be waiting in them.
void leave_parents_queues() { ::new (&queues) all_queues(); }

// Before main, as in fork_locks.cpp.
[[maybe_unused]] const int leaves_queues = ::pthread_atfork(nullptr, nullptr, leave_parents_queues);

std::mutex& queues_mutex() { return base::mutex_of(base::fork_lock::file_pools); }

/// Returns nullptr if no open pool holds `address`: memory of tests, a pool in memory, or a pool
/// that was closed meanwhile.
std::shared_ptr<commit_queue> queue_of(std::uintptr_t address) {
  const std::lock_guard lock(queues_mutex());
  for (const auto& each : queues.value) {
    if (each->holds(address)) return each;
  }
  return nullptr;
}

std::shared_ptr<commit_queue> queue_of(const void* address) {
  return queue_of(reinterpret_cast<std::uintptr_t>(address));
}

/// Passes the caller's notes to the queue of each pool.
template <class Give>
void give_notes(Give give) {
  hw::store_fence();
  thread_notes* const mine = notes_of_this_thread();
  if (mine == nullptr || mine->lines.empty()) return;
  std::vector<line_range>& lines = mine->lines;
  sort(lines);
  std::optional<error> failure;  // the other pools get their lines nevertheless
  for (auto first = lines.begin(); first != lines.end();) {
    const std::shared_ptr<commit_queue> queue = queue_of(first->first);
    if (queue == nullptr) {
      ++first;
      continue;
    }
    const auto end = std::lower_bound(first, lines.end(), line_range{queue->end(), 0}, precedes);
    try {
      give(*queue, {first, end});
    } catch (const error& one) {
      failure = one;
    }
    first = end;
  }
  forget(lines);
  if (failure) throw *failure;
}

}  // namespace

void logged_file::pwb(const void* address, site) {
  thread_notes* const mine = notes_of_this_thread();
  const std::uintptr_t first = base::line_of(address);
  if (mine != nullptr && !mine->lines.empty()) {
    line_range& last = mine->lines.back();
    if (first >= last.first && first < end_of(last)) return;
    if (first == end_of(last) && first % pool_alignment != 0) {
      ++last.lines;
      return;
    }
  }
  const line_range its{first, 1};
  if (mine != nullptr && remember(mine->lines, its)) return;
  // There is no room to remember the line, and the caller's store may have taken effect.
  hw::store_fence();
  if (const std::shared_ptr<commit_queue> queue = queue_of(address)) queue->commit({&its, 1});
}

void logged_file::stream(void* destination, const void* source, std::size_t size, site where) {
  write(destination, source, size, where);
  const std::uintptr_t first = base::line_of(destination);
  const std::size_t lines = base::lines_touched(destination, size);
  for (std::size_t i = 0; i < lines; ++i) {
    pwb(reinterpret_cast<const void*>(first + i * base::cache_line_size), where);
  }
}

void logged_file::psync(site) {
  give_notes([](commit_queue& queue, std::span<const line_range> lines) { queue.commit(lines); });
}

void logged_file::stage(site) {
  give_notes([](commit_queue& queue, std::span<const line_range> lines) { queue.stage(lines); });
}

void logged_file::publish(std::atomic<std::uint64_t>& word, std::uint64_t value, site where) {
  publish(word, value, {}, where);
}

void logged_file::publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                          std::span<const line_store> lines, site) {
  hw::store_fence();
  if (const std::shared_ptr<commit_queue> queue = queue_of(&word)) {
    queue->publish({&word, value, lines});
    return;
  }
  // Data in that memory does not survive anyway.
  for (const line_store& each : lines) std::memcpy(each.line, each.content, line);
  word.store(value, std::memory_order_release);
}

bool logged_file::provide(const void* address, std::uint64_t lines) {
  const std::shared_ptr<commit_queue> queue = queue_of(address);
  return queue == nullptr || queue->provide(lines);
}

std::byte* logged_file::map_through(std::byte* first, std::size_t bytes) {
  const std::shared_ptr<commit_queue> queue = queue_of(first);
  return queue == nullptr ? first
                          : queue->map_through(reinterpret_cast<std::uintptr_t>(first), bytes);
}

void logged_file::write_through(std::byte* to, const void* from, std::size_t bytes) noexcept {
  using word = std::uint64_t;
  auto* const source = static_cast<const std::byte*>(from);
  for (std::size_t at = 0; at < bytes; at += sizeof(word)) {
    word value;
    std::memcpy(&value, source + at, sizeof value);
    std::atomic_ref<word>(*reinterpret_cast<word*>(to + at))
        .store(value, std::memory_order_relaxed);
  }
}

void logged_file::sync_through(const void* address, site) {
  hw::store_fence();
  if (const std::shared_ptr<commit_queue> queue = queue_of(address)) queue->sync_through();
}

std::uint64_t logged_file::own(const owned_part& part) {
  static std::atomic<std::uint64_t> last{0};
  const std::uint64_t owner = last.fetch_add(1, std::memory_order_relaxed) + 1;
  if (const std::shared_ptr<commit_queue> queue = queue_of(part.first)) queue->own(part, owner);
  return owner;
}

void logged_file::disown(const std::byte* first, std::uint64_t owner) noexcept {
  if (const std::shared_ptr<commit_queue> queue = queue_of(first)) queue->disown(owner);
}

void logged_file::relieve(const void* address) {
  if (const std::shared_ptr<commit_queue> queue = queue_of(address)) queue->relieve();
}

void logged_file::pool_opened(const void* base, std::size_t size, const std::string& path,
                              line_log& log) {
  auto queue = std::make_shared<commit_queue>(base, size, path, log);
  const std::lock_guard lock(queues_mutex());
  queues.value.push_back(std::move(queue));
}

void logged_file::pool_extended(const void* base, std::size_t size) noexcept {
  const std::lock_guard lock(queues_mutex());
  for (const auto& queue : queues.value) {
    if (queue->is_at(base)) queue->extend(size);
  }
}

void logged_file::pool_closed(const void* base) noexcept {
  const std::lock_guard lock(queues_mutex());
  std::erase_if(queues.value, [base](const auto& queue) { return queue->is_at(base); });
}

bool logged_file::poisoned(const void* address) noexcept {
  const std::shared_ptr<commit_queue> queue = queue_of(address);
  return queue != nullptr && queue->poisoned();
}

void logged_file::checkpoint(const void* address) {
  if (const std::shared_ptr<commit_queue> queue = queue_of(address)) queue->checkpoint();
}

log_counters logged_file::counters(const void* address) {
  const std::shared_ptr<commit_queue> queue = queue_of(address);
  return queue == nullptr ? log_counters() : queue->counters();
}

}  // namespace outlast::domain
