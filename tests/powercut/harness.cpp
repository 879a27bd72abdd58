#include <tests/powercut/harness.hpp>

#include <gtest/gtest.h>
#include <apps/demo/child_process.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <unistd.h>

namespace outlast::test::powercut {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using apps::child_end;
using apps::child_process;
using apps::shared_memory;

constexpr std::uint32_t most_threads = 8;
constexpr std::size_t log_room = 1 << 16;
constexpr std::size_t survivors_room = 1 << 18;
constexpr const char* child_argument = "--powercut-child";

enum class stage : std::uint32_t { starting, shown, finished, failed };
enum class order : std::uint32_t { work, wait, close };

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
  std::array<thread_log, most_threads> logs{};
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

void live(const std::string& name, shared_state& shared) {
  const std::vector<definition> all = definitions();
  const std::unique_ptr<subject> what = definition_called(all, name).open(shared.folder);
  show(*what, shared);
  if (const std::string contradiction = what->check(); !contradiction.empty()) {
    throw std::runtime_error("the pool contradicts itself: " + contradiction);
  }
  shared.reached.store(stage::shown, std::memory_order_release);
  if (shared.what == order::work) work_until_killed(*what, shared);
  if (shared.what == order::wait) wait_for_death();
  what->close();
  shared.reached.store(stage::finished, std::memory_order_release);
}

int child_main(const std::string& name, int descriptor) {
  apps::die_with_parent();
  const shared_memory memory = shared_memory::attach(descriptor);
  auto& shared = *std::launder(reinterpret_cast<shared_state*>(memory.data()));
  try {
    live(name, shared);
    return 0;
  } catch (const std::exception& failure) {
    put_text(shared.complaint, failure.what());
    shared.reached.store(stage::failed, std::memory_order_release);
    return 1;
  }
}

// --- the parent ---

/// A folder for one run's pool.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (fs::temp_directory_path() / "outlast-powercut-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

class executioner {
 public:
  executioner(const std::string& name, const plan& how)
      : name_(name),
        how_(how),
        all_(definitions()),
        judge_(definition_called(all_, name).make_judge()),
        memory_(shared_memory::create(sizeof(shared_state))),
        shared_(*new(memory_.data()) shared_state) {
    shared_.threads = std::min(how.threads, most_threads);
    put_text(shared_.folder, folder_.path().string());
  }

  result run() {
    try {
      for (std::uint32_t i = 0; i < how_.kills; ++i) kill_once();
      close_and_reopen();
    } catch (const std::exception& failure) {
      result_.complaint = failure.what();
    }
    return result_;
  }

 private:
  /// A child that is to die early gets no leave to work: it could repair unseen what is missing.
  void kill_once() {
    const bool early = random_() % how_.early_kills == 0;
    begin(early ? order::wait : order::work);
    child_process child(arguments());
    if (early) {
      std::this_thread::sleep_for(random_time(startup_));
    } else {
      const clock::time_point start = clock::now();
      wait_for(child, stage::shown);
      startup_ = clock::now() - start;
      std::this_thread::sleep_for(random_time(std::chrono::milliseconds(how_.longest_run_ms)));
    }
    child.kill();
    if (shared_.reached.load() == stage::failed) throw std::runtime_error(shared_.complaint);
    if (shared_.reached.load() == stage::shown) compare();
    drain_logs();
  }

  void close_and_reopen() {
    for (int i = 0; i < 2; ++i) {
      begin(order::close);
      child_process child(arguments());
      wait_for(child, stage::finished);
      if (child.wait().exit_status != 0) throw std::runtime_error("a child failed at its end");
      compare();
    }
  }

  void begin(order what) {
    shared_.what = what;
    shared_.seed = random_();
    shared_.reached.store(stage::starting);
    for (thread_log& log : shared_.logs) {
      log.begun.store(0);
      log.returned.store(0);
    }
  }

  void compare() {
    const std::span<const entry> survivors(shared_.content.data(), shared_.survivors);
    const std::string complaint = judge_->compare(survivors);
    if (!complaint.empty()) throw std::runtime_error(complaint);
  }

  void drain_logs() {
    for (std::uint32_t thread = 0; thread < shared_.threads; ++thread) {
      const thread_log& log = shared_.logs[thread];
      const std::uint64_t returned = log.returned.load();
      for (std::uint64_t i = 0; i < returned; ++i) judge_->returned(thread, log.operations[i]);
      if (log.begun.load() > returned) judge_->interrupted(thread, log.operations[returned]);
      result_.operations += returned;
    }
  }

  void wait_for(child_process& child, stage wanted) {
    const clock::time_point latest = clock::now() + 120s;
    for (;;) {
      const std::optional<child_end> end = child.poll();  // before the stage is read
      const stage reached = shared_.reached.load(std::memory_order_acquire);
      if (reached == stage::failed) throw std::runtime_error(shared_.complaint);
      if (reached >= wanted) return;
      if (end) throw std::runtime_error("a child ended by itself: " + describe(*end));
      if (clock::now() > latest) throw std::runtime_error("a child hangs");
      std::this_thread::sleep_for(100us);
    }
  }

  static std::string describe(const child_end& end) {
    return end.signal != 0 ? "signal " + std::to_string(end.signal)
                           : "status " + std::to_string(end.exit_status);
  }

  [[nodiscard]] std::vector<std::string> arguments() const {
    return {child_argument, name_, std::to_string(memory_.descriptor())};
  }

  clock::duration random_time(clock::duration below) {
    return clock::duration(random_() % static_cast<std::uint64_t>(below.count() + 1));
  }

  std::string name_;
  plan how_;
  std::vector<definition> all_;
  std::unique_ptr<judge> judge_;
  temporary_folder folder_;
  shared_memory memory_;
  shared_state& shared_;
  random_source random_{std::random_device{}()};
  clock::duration startup_ = 20ms;
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
    default: throw std::invalid_argument("map_judge knows no such operation");
  }
}

}  // namespace

map_judge::value map_judge::expected(std::uint64_t key) const {
  const auto found = content_.find(key);
  return found == content_.end() ? value{} : value{found->second};
}

bool map_judge::explained(std::uint64_t key, value found) const {
  if (found == expected(key)) return true;
  const auto begun = pending_.find(key);
  return begun != pending_.end() && found == after(begun->second, expected(key));
}

void map_judge::returned(std::uint32_t, const operation& done) {
  if (const value now = after(done, expected(done.key))) {
    content_[done.key] = *now;
  } else {
    content_.erase(done.key);
  }
}

void map_judge::interrupted(std::uint32_t, const operation& begun) { pending_[begun.key] = begun; }

std::string map_judge::compare(std::span<const entry> survivors) {
  std::map<std::uint64_t, std::uint64_t> found;
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

}  // namespace outlast::test::powercut

int main(int argc, char** argv) {
  using namespace outlast::test::powercut;
  if (argc == 4 && std::string_view(argv[1]) == child_argument) {
    return child_main(argv[2], std::stoi(argv[3]));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
