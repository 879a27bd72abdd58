#include <tests/powercut/harness.hpp>

#include <apps/demo/child_process.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <tests/support/memory_folder.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::test::powercut {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using apps::child_end;
using apps::child_process;
using apps::shared_memory;

constexpr std::uint32_t max_threads = 8;
constexpr std::size_t log_room = 1 << 17;
constexpr std::size_t survivors_room = 1 << 18;
constexpr const char* child_argument = "--powercut-child";

enum class stage : std::uint32_t { starting, shown, finished, failed };
enum class order : std::uint32_t {
  work,   ///< show what there is, then operate until killed
  wait,   ///< show, then do nothing until killed
  look,   ///< show and end, as a crash would
  close,  ///< show and close
};

/// One thread's operations of one round. Full logs end the thread's work, not the round.
struct thread_log {
  alignas(64) std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> returned{0};
  std::array<operation, log_room> operations{};
};

/// The memory that parent and child share.
struct shared_state {
  order what = order::work;
  std::uint32_t threads = 0;
  std::uint64_t seed = 0;
  char folder[512]{};
  std::atomic<stage> reached{stage::starting};
  char complaint[512]{};
  std::uint64_t survivors = 0;
  std::array<entry, survivors_room> content{};
  std::array<thread_log, max_threads> logs{};
};

template <std::size_t Size>
void put_text(char (&field)[Size], std::string_view text) {
  const std::size_t length = std::min(text.size(), Size - 1);
  std::memcpy(field, text.data(), length);
  field[length] = '\0';
}

const definition& definition_called(const std::vector<definition>& all, const std::string& name) {
  for (const definition& each : all) {
    if (each.name == name) return each;
  }
  throw std::invalid_argument("no subject is called " + name);
}

// --- the child ---

void show(subject& what, shared_state& shared) {
  std::uint64_t found = 0;
  what.list([&](entry each) {
    if (found == survivors_room) throw std::runtime_error("more survivors than there is room for");
    shared.content[found++] = each;
  });
  shared.survivors = found;
}

void work(subject& what, shared_state& shared, std::uint32_t thread) {
  thread_log& log = shared.logs[thread];
  random_source random(shared.seed + thread);
  for (std::uint64_t done = 0; done < log_room; ++done) {
    log.operations[done] = what.draw(thread, random);
    log.begun.store(done + 1, std::memory_order_release);
    what.apply(log.operations[done]);
    log.returned.store(done + 1, std::memory_order_release);
  }
}

[[noreturn]] void wait_for_death() {
  for (;;) std::this_thread::sleep_for(1s);
}

void work_until_killed(subject& what, shared_state& shared) {
  std::vector<std::jthread> threads;
  for (std::uint32_t thread = 0; thread < shared.threads; ++thread) {
    threads.emplace_back([&, thread] {
      try {
        work(what, shared, thread);
      } catch (const std::exception& failure) {
        put_text(shared.complaint, failure.what());
        shared.reached.store(stage::failed, std::memory_order_release);
      }
    });
  }
  threads.clear();
  wait_for_death();
}

void run_incarnation(const std::string& name, shared_state& shared) {
  const std::vector<definition> all = definitions();
  const std::unique_ptr<subject> what = definition_called(all, name).open(shared.folder);
  show(*what, shared);
  if (const std::string contradiction = what->check(); !contradiction.empty()) {
    throw std::runtime_error("the pool contradicts itself: " + contradiction);
  }
  shared.reached.store(stage::shown, std::memory_order_release);
  if (shared.what == order::work) work_until_killed(*what, shared);
  if (shared.what == order::wait) wait_for_death();
  if (shared.what == order::close) what->close();
  shared.reached.store(stage::finished, std::memory_order_release);
}

int child_main(const std::string& name, int descriptor) {
  apps::die_with_parent();
  const shared_memory memory = shared_memory::attach(descriptor);
  auto& shared = *std::launder(reinterpret_cast<shared_state*>(memory.data()));
  try {
    run_incarnation(name, shared);
    return 0;
  } catch (const std::exception& failure) {
    put_text(shared.complaint, failure.what());
    shared.reached.store(stage::failed, std::memory_order_release);
    return 1;
  }
}

// --- the parent ---

/// A file descriptor that is closed.
class descriptor {
 public:
  descriptor(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
  }
  ~descriptor() { ::close(fd_); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

void copy_bytes(int from, int to, off_t begin, off_t end) {
  std::array<char, 1 << 16> buffer;
  while (begin < end) {
    const auto wanted = std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(end - begin));
    const ssize_t got = ::pread(from, buffer.data(), wanted, begin);
    if (got <= 0 || ::pwrite(to, buffer.data(), static_cast<std::size_t>(got), begin) != got) {
      throw std::system_error(errno, std::generic_category(), "cannot copy a file");
    }
    begin += got;
  }
}

/// Holes stay holes.
void copy_sparsely(const fs::path& from, const fs::path& to) {
  const descriptor source(from, O_RDONLY);
  const descriptor target(to, O_WRONLY | O_CREAT | O_TRUNC);
  const off_t length = ::lseek(source.get(), 0, SEEK_END);
  if (::ftruncate(target.get(), length) != 0) {
    throw std::system_error(errno, std::generic_category(), to.string());
  }
  for (off_t at = 0; at < length;) {
    const off_t data = ::lseek(source.get(), at, SEEK_DATA);
    if (data < 0) return;  // nothing but a hole is left
    at = ::lseek(source.get(), data, SEEK_HOLE);
    copy_bytes(source.get(), target.get(), data, at);
  }
}

/// The process that has the pool open stands still: its copy is what a kill would leave.
void adopt(const fs::path& file) {
  if (file.extension() == ".redo") return;
  const descriptor copy(file, O_RDWR);
  pool_detail::adopt_copy(file.string(), copy.get());
}

void copy_files(const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& each : fs::directory_iterator(from)) {
    if (!each.is_regular_file()) continue;
    copy_sparsely(each.path(), to / each.path().filename());
    adopt(to / each.path().filename());
  }
}

std::string describe(const child_end& end) {
  return end.signal != 0 ? "signal " + std::to_string(end.signal)
                         : "status " + std::to_string(end.exit_status);
}

/// Children of one folder's files, one after the other, and the memory shared with them.
class stage_manager {
 public:
  stage_manager(std::string name, const fs::path& folder, std::uint32_t threads)
      : name_(std::move(name)),
        memory_(shared_memory::create(sizeof(shared_state))),
        shared_(*new(memory_.data()) shared_state) {
    shared_.threads = std::min(threads, max_threads);
    put_text(shared_.folder, folder.string());
  }

  /// The input of the next child.
  void prepare(order what, std::uint64_t seed) {
    shared_.what = what;
    shared_.seed = seed;
    shared_.reached.store(stage::starting);
    for (thread_log& log : shared_.logs) {
      log.begun.store(0);
      log.returned.store(0);
    }
  }

  [[nodiscard]] std::vector<std::string> arguments() const {
    return {child_argument, name_, std::to_string(memory_.descriptor())};
  }

  void wait_for(child_process& child, stage wanted) {
    const clock::time_point latest = clock::now() + 120s;
    for (;;) {
      const std::optional<child_end> end = child.poll();  // before the stage is read
      const stage reached = shared_.reached.load(std::memory_order_acquire);
      require_no_failure();
      if (reached >= wanted) return;
      if (end) throw std::runtime_error("a child ended by itself: " + describe(*end));
      if (clock::now() > latest) throw std::runtime_error("a child hangs");
      std::this_thread::sleep_for(100us);
    }
  }

  /// Runs a child that ends by itself.
  void perform(order what) {
    prepare(what, 0);
    child_process child(arguments());
    wait_for(child, stage::finished);
    if (child.wait().exit_status != 0) throw std::runtime_error("a child failed at its end");
  }

  void require_no_failure() const {
    if (shared_.reached.load() == stage::failed) throw std::runtime_error(shared_.complaint);
  }

  [[nodiscard]] bool has_shown() const { return shared_.reached.load() == stage::shown; }
  [[nodiscard]] std::span<const entry> survivors() const {
    return {shared_.content.data(), shared_.survivors};
  }
  [[nodiscard]] std::span<const thread_log> logs() const {
    return {shared_.logs.data(), shared_.threads};
  }

 private:
  std::string name_;
  shared_memory memory_;
  shared_state& shared_;
};

class executioner {
 public:
  executioner(const std::string& name, const plan& how)
      : how_(how),
        checker_(definition_called(definitions(), name).make_checker()),
        original_(name, folder_.path(), how.threads),
        copy_(name, copy_folder_.path(), how.threads) {}

  result run() {
    try {
      for (std::uint32_t i = 0; i < how_.kills; ++i) {
        kill_once();
        how_.progress(result_);
      }
      close_and_reopen();
    } catch (const std::exception& failure) {
      result_.complaint = failure.what();
      if (how_.keeps_evidence) keep_evidence();
    }
    return result_;
  }

 private:
  /// A child that is to die early gets no leave to work: it could repair unseen what is missing.
  void kill_once() {
    const bool early = how_.early_kills != 0 && random_() % how_.early_kills == 0;
    original_.prepare(early ? order::wait : order::work, random_());
    compared_ = false;
    fed_.fill(0);
    child_process child(original_.arguments());
    if (early) {
      std::this_thread::sleep_for(random_time(startup_));
    } else {
      let_work(child);
    }
    child.kill();
    ++result_.kills;
    original_.require_no_failure();
    compare_once();
    drain_logs();
  }

  void let_work(child_process& child) {
    const clock::time_point start = clock::now();
    original_.wait_for(child, stage::shown);
    startup_ = clock::now() - start;
    const auto longest = std::chrono::milliseconds(how_.longest_run_ms);
    for (std::uint32_t i = 0; i < how_.copies; ++i) {
      std::this_thread::sleep_for(random_time(longest));
      check_copy(child);
    }
    std::this_thread::sleep_for(random_time(longest));
  }

  /// What a kill would leave now.
  void check_copy(child_process& child) {
    if (!child.stop())
      throw std::runtime_error("a child ended by itself: " + describe(child.wait()));
    original_.require_no_failure();
    compare_once();
    feed_checker();
    copy_files(folder_.path(), copy_folder_.path());
    copy_.perform(order::look);
    const std::unique_ptr<checker> at_that_moment = checker_->clone();
    name_interrupted(*at_that_moment);
    ++result_.copies;
    require_none(at_that_moment->compare(copy_.survivors()));
    child.go_on();
  }

  void close_and_reopen() {
    for (int i = 0; i < 2; ++i) {
      original_.perform(order::close);
      require_none(checker_->compare(original_.survivors()));
    }
  }

  /// Compares the content that the child found with the acknowledged operations.
  void compare_once() {
    if (compared_ || !original_.has_shown()) return;
    require_none(checker_->compare(original_.survivors()));
    compared_ = true;
  }

  static void require_none(const std::string& complaint) {
    if (!complaint.empty()) throw std::runtime_error(complaint);
  }

  /// Reports to the checker the operations that have returned since the last report.
  void feed_checker() {
    std::uint32_t thread = 0;
    for (const thread_log& log : original_.logs()) {
      std::uint64_t& fed = fed_[thread];
      const std::uint64_t returned = log.returned.load();
      result_.operations += returned - fed;
      for (; fed < returned; ++fed) checker_->returned(thread, log.operations[fed]);
      ++thread;
    }
  }

  /// Reports to `which` the operations that had begun and not returned. Returns true if there is
  /// one. Requires: `which` has all operations that have returned.
  bool name_interrupted(checker& which) const {
    bool any = false;
    std::uint32_t thread = 0;
    for (const thread_log& log : original_.logs()) {
      const std::uint64_t returned = log.returned.load();
      if (log.begun.load() > returned) {
        which.interrupted(thread, log.operations[returned]);
        any = true;
      }
      ++thread;
    }
    return any;
  }

  void drain_logs() {
    feed_checker();
    if (name_interrupted(*checker_)) ++result_.kills_at_work;
  }

  void keep_evidence() {
    folder_.keep();
    result_.complaint += " (the pool is kept in " + folder_.path().string() + ")";
  }

  clock::duration random_time(clock::duration below) {
    return clock::duration(random_() % static_cast<std::uint64_t>(below.count() + 1));
  }

  plan how_;
  std::unique_ptr<checker> checker_;
  scratch_folder folder_;
  scratch_folder copy_folder_;
  stage_manager original_;
  stage_manager copy_;
  random_source random_{std::random_device{}()};
  clock::duration startup_ = 20ms;
  bool compared_ = false;
  std::array<std::uint64_t, max_threads> fed_{};
  result result_;
};

std::string describe(std::optional<std::uint64_t> value) {
  return value ? std::to_string(*value) : "nothing";
}

std::optional<std::uint64_t> after(const operation& done, std::optional<std::uint64_t> before) {
  switch (done.what) {
    case insert_if_absent: return before ? before : done.value;
    case put: return done.value;
    case erase: return std::nullopt;
    default: throw std::invalid_argument("map_checker: unknown operation");
  }
}

}  // namespace

std::unique_ptr<checker> map_checker::clone() const { return std::make_unique<map_checker>(*this); }

map_checker::value map_checker::expected(std::uint64_t key) const {
  const auto found = content_.find(key);
  return found == content_.end() ? value{} : value{found->second};
}

bool map_checker::explained(std::uint64_t key, value found) const {
  if (found == expected(key)) return true;
  const auto begun = pending_.find(key);
  return begun != pending_.end() && found == after(begun->second, expected(key));
}

void map_checker::returned(std::uint32_t, const operation& done) {
  if (const value now = after(done, expected(done.key))) {
    content_[done.key] = *now;
  } else {
    content_.erase(done.key);
  }
}

void map_checker::interrupted(std::uint32_t, const operation& begun) {
  pending_[begun.key] = begun;
}

std::string map_checker::compare(std::span<const entry> survivors) {
  std::unordered_map<std::uint64_t, std::uint64_t> found;
  for (const entry& each : survivors) {
    if (!found.emplace(each.key, each.value).second) {
      return "key " + std::to_string(each.key) + " is there twice";
    }
  }
  for (const auto& [key, now] : found) {
    if (explained(key, now)) continue;
    return "key " + std::to_string(key) + " has " + std::to_string(now) + ", acknowledged was " +
           describe(expected(key));
  }
  for (const auto& [key, before] : content_) {
    if (found.contains(key) || explained(key, std::nullopt)) continue;
    return "key " + std::to_string(key) + " with " + std::to_string(before) + " is lost";
  }
  content_ = std::move(found);
  pending_.clear();
  return {};
}

result kill_again_and_again(const std::string& name, const plan& how) {
  return executioner(name, how).run();
}

std::optional<int> run_as_child(int argc, char** argv) {
  if (argc != 4 || std::string_view(argv[1]) != child_argument) return std::nullopt;
  return child_main(argv[2], std::stoi(argv[3]));
}

}  // namespace outlast::test::powercut
