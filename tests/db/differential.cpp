// Each life is a process: it opens the store, judges what the last life has left, and goes on with
// steps that a seed decides, until it is killed or has had enough. What it has begun, had answered
// and had synced it notes in shared memory, so that the judgement of the next one is exact:
//
//   what was answered, and perhaps the step that was under way: a kill takes nothing away, neither
//   from tmpfs nor from a disk, with sync or without.
//
// A life that is killed while it judges leaves the same question to the next one.
#include <tests/db/differential.hpp>

#include <outlast/db/comparator.hpp>
#include <outlast/db/iterator.hpp>
#include <tests/db/leveldb_peer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

namespace outlast::test {

namespace {

using namespace db_steps;

struct ours {
  using DB = db::DB;
  using Iterator = db::Iterator;
  using ReadOptions = db::ReadOptions;
  using Snapshot = db::Snapshot;
  using WriteBatch = db::WriteBatch;
  using WriteOptions = db::WriteOptions;
};

class backwards final : public db::Comparator {
 public:
  int Compare(const db::Slice& a, const db::Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.backwards"; }
  void FindShortestSeparator(std::string*, const db::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

/// What a life tells, whenever it ends.
struct told {
  std::atomic<bool> has_judged;
  std::atomic<std::uint64_t> survived;  ///< steps of the last life that were found
  std::atomic<std::uint64_t> answered;
  std::atomic<std::uint64_t> writes;
  std::atomic<std::uint64_t> reopenings;
  std::array<char, 4000> complaint;
};

class shared_memory {
 public:
  shared_memory() {
    void* const at =
        ::mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    what_ = new (at) told{};
  }
  ~shared_memory() { ::munmap(what_, sizeof(told)); }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  [[nodiscard]] told& operator*() const { return *what_; }
  [[nodiscard]] told* operator->() const { return what_; }

 private:
  told* what_;
};

/// A life whose end is not judged yet.
struct question {
  std::uint64_t seed = 0;
  std::uint64_t least = 0;  ///< steps that must be there
  std::uint64_t most = 0;   ///< that may
};

std::string printable(const std::string& text) {
  std::string made;
  for (const char each : text.substr(0, 120)) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= 32 && byte < 127) {
      made += each;
    } else {
      made += "\\x" + std::to_string(byte);
    }
  }
  return made + (text.size() > 120 ? "... (" + std::to_string(text.size()) + " bytes)" : "");
}

class comparison {
 public:
  explicit comparison(const differential_plan& plan)
      : plan_(plan), base_(order{plan.is_reversed}), home_(plan.where), random_(plan.seed) {
    home_.more.max_unsynced_time = std::chrono::milliseconds(20);
    home_.more.capacity_bytes = std::size_t{256} << 20;
    home_.more.keep_index = plan.keeps_index;
    if (plan.is_reversed) home_.options.comparator = &backwards_;
  }

  differential_result run() {
    result_.beside_leveldb = leveldb_peer::is_there();
    while (result_.complaint.empty() && result_.steps < plan_.steps) {
      if (home_.is_volatile()) {
        live_here();
      } else {
        live_and_die();
      }
    }
    return std::move(result_);
  }

 private:
  static std::unique_ptr<db::DB> open(const void* how) {
    const auto& home = *static_cast<const store_home*>(how);
    db::DB* opened = nullptr;
    const db::Status status = db::DB::Open(home.options, home.more, home.name(), &opened);
    if (!status.ok()) throw std::runtime_error(status.ToString());
    return std::unique_ptr<db::DB>(opened);
  }

  void live_here() {
    new (&*told_) told{};
    const std::uint64_t seed = random_();
    live(seed, std::min<std::uint64_t>(plan_.steps, 20'000));
    take_answers(seed);
  }
  void live_and_die();
  void take_answers(std::uint64_t seed);

  // In the process of a life.
  void live(std::uint64_t seed, std::uint64_t steps);
  [[nodiscard]] bool judge(driven<ours>& store, content& found);
  void go_on(std::uint64_t seed, std::uint64_t steps, driven<ours>& store, content from);
  void complain(const std::string& text) {
    const std::size_t bytes = text.copy(told_->complaint.data(), told_->complaint.size() - 1);
    told_->complaint.at(bytes) = '\0';
  }

  differential_plan plan_;
  content base_;  // before what pending_ tells
  question pending_;
  backwards backwards_;
  store_home home_;
  scratch_folder peers_;
  std::mt19937_64 random_;
  shared_memory told_;
  differential_result result_;
};

/// One process, killed after a while that is drawn; one in eight lives as long as it likes.
void comparison::live_and_die() {
  new (&*told_) told{};
  const std::uint64_t seed = random_();
  const bool is_spared = random_() % 8 == 0;
  const auto longest = std::chrono::microseconds(1 + random_() % (plan_.longest_life_ms * 1000));
  const ::pid_t child = ::fork();
  if (child == 0) {
    live(seed, is_spared ? std::min<std::uint64_t>(2000, plan_.steps / 4) : plan_.steps);
    ::_exit(told_->complaint[0] == '\0' ? 0 : 1);
  }
  if (!is_spared) {
    std::this_thread::sleep_for(longest);
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (was_killed) ++result_.kills;
  if (was_killed && !told_->has_judged) ++result_.kills_while_opening;
  if (WIFSIGNALED(status) && !was_killed) {
    complain("it ended by signal " + std::to_string(WTERMSIG(status)));
  }
  take_answers(seed);
}

void comparison::take_answers(std::uint64_t seed) {
  result_.steps += told_->answered;
  result_.writes += told_->writes;
  result_.reopenings += told_->reopenings;
  if (told_->complaint[0] != '\0') {
    result_.complaint = std::string(told_->complaint.data()) + " (seed " +
                        std::to_string(plan_.seed) + ", step " + std::to_string(result_.steps) +
                        ")";
    return;
  }
  if (!told_->has_judged) return;
  stream lived(pending_.seed, plan_.how);
  for (std::uint64_t i = 0; i < told_->survived; ++i) db_steps::apply(lived.next(), base_);
  pending_ = {seed, told_->answered, told_->answered + 1};
}

void comparison::live(std::uint64_t seed, std::uint64_t steps) {
  try {
    driven<ours> store(&open, &home_);
    content found(order{plan_.is_reversed});
    if (!judge(store, found)) return;
    go_on(seed, steps, store, std::move(found));
  } catch (const std::exception& failure) {
    complain(failure.what());
  }
}

/// Is what the last life left one of the states that it may have left? The latest one counts.
bool comparison::judge(driven<ours>& store, content& found) {
  db::ReadOptions verified;
  verified.verify_checksums = true;
  const std::unique_ptr<db::Iterator> it(store.store().NewIterator(verified));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    found.emplace_hint(found.end(), it->key().ToString(), it->value().ToString());
  }
  if (!it->status().ok()) {
    complain(it->status().ToString());
    return false;
  }
  content expected = base_;
  stream lived(pending_.seed, plan_.how);
  bool is_equal = expected == found;
  bool is_any = false;
  for (std::uint64_t i = 0;; ++i) {
    if (i >= pending_.least && is_equal) {
      told_->survived = i;
      is_any = true;
    }
    if (i == pending_.most) break;
    const step next = lived.next();
    if (next.changes.empty()) continue;
    db_steps::apply(next, expected);
    is_equal = expected == found;
  }
  told_->has_judged = is_any;
  if (is_any) return true;
  complain("after a kill " + std::to_string(found.size()) +
           " keys are what was there after none of " + std::to_string(pending_.least) + " to " +
           std::to_string(pending_.most) + " steps of the life before");
  return false;
}

void comparison::go_on(std::uint64_t seed, std::uint64_t steps, driven<ours>& store, content from) {
  leveldb_peer peer((peers_.path() / "leveldb").string(), plan_.is_reversed, from);
  model expected(std::move(from));
  stream all(seed, plan_.how);
  for (std::uint64_t i = 0; i < steps; ++i) {
    const step todo = all.next();
    const std::string answer = store.apply(todo);
    told_->answered = i + 1;
    if (todo.kind == what::write) ++told_->writes;
    if (todo.kind == what::reopen) ++told_->reopenings;
    const std::string by_model = expected.apply(todo);
    const std::string by_leveldb = peer.apply(todo).value_or(by_model);
    if (answer == by_model && by_model == by_leveldb) continue;
    complain("step " + std::to_string(i) + " of kind " +
             std::to_string(static_cast<int>(todo.kind)) + " answers '" + printable(answer) +
             "', the map '" + printable(by_model) + "', LevelDB '" + printable(by_leveldb) + "'");
    return;
  }
}

}  // namespace

differential_result compare_lives(const differential_plan& plan) { return comparison(plan).run(); }

}  // namespace outlast::test
