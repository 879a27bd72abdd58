#include <tests/soak/hand.hpp>
#include <tests/soak/soak.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iomanip>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <malloc.h>
#include <unistd.h>

namespace outlast::test::soak {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// A folder that is gone with it.
class own_folder {
 public:
  explicit own_folder(const std::filesystem::path& in)
      : path_(in / ("outlast-soak-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~own_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// What happened in a wave.
struct record {
  double second = 0;
  sample most;  ///< while it lasted
  sample end;   ///< when everybody has been idle for a while
  std::uint64_t syncs = 0;
  std::int64_t idle_syncs = 0;
  std::int64_t idle_sleeps = 0;
};

std::string json(const sample& of) {
  std::string text;
  for (const auto& [name, value] : of) {
    text += (text.empty() ? "\"" : ",\"") + name + "\":" + std::to_string(value);
  }
  return "{" + text + "}";
}

/// Who works in which wave: two residents, two guests, and one who stays idle.
class workers {
 public:
  workers() {
    for (auto& each : residents_) each = std::make_unique<hand>();
  }

  /// Those that come to the wave are there.
  void come(u64 wave) {
    for (auto& each : guests_) each = std::make_unique<hand>();
    if (wave % period == 0) sleeper_ = std::make_unique<hand>();
    present_.clear();
    for (unsigned i = 0; i < 2; ++i) {
      if (wave % period / 3 != i) present_.push_back({i, residents_.at(i).get()});
      present_.push_back({2 + i, guests_.at(i).get()});
    }
    if (wave % period == 0) present_.push_back({4, sleeper_.get()});
  }
  void go(u64 wave) {
    for (auto& each : guests_) each.reset();
    if (wave % period == period - 1) sleeper_.reset();
  }

  /// Does `work` in each role that is there, and calls `meanwhile` until all have ended.
  void all(const std::function<void(unsigned)>& work, const std::function<void()>& meanwhile) {
    for (const auto& [role, by] : present_) {
      by->give([&work, role = role] { work(role); });
    }
    for (const auto& each : present_) {
      while (!each.by->ends_within(milliseconds(100))) meanwhile();
    }
    for (const auto& each : present_) each.by->rethrow();
  }

 private:
  struct member {
    unsigned role;
    hand* by;
  };
  std::array<std::unique_ptr<hand>, 2> residents_;
  std::array<std::unique_ptr<hand>, 2> guests_;
  std::unique_ptr<hand> sleeper_;
  std::vector<member> present_;
};

class soak {
 public:
  soak(const plan& what, world& on, std::ostream& records)
      : what_(what), on_(on), records_(records) {}

  [[nodiscard]] result run() {
    for (u64 wave = 0; !is_over(wave); ++wave) {
      waves_.push_back(one(wave));
      write(wave);
    }
    return {waves_.size(), seconds_since(start_), verdicts()};
  }

 private:
  /// A period that has begun is completed.
  [[nodiscard]] bool is_over(u64 waves) const {
    return waves >= 4 * period && waves % period == 0 && seconds_since(start_) >= what_.seconds;
  }

  record one(u64 wave) {
    record made;
    const std::uint64_t syncs = syncs_until_now();
    const auto look = [&] {
      raise_to(made.most, process_sample());
      raise_to(made.most, on_.files());
    };
    workers_.come(wave);
    phase(wave, &subject::grow, look);
    raise_to(made.most, on_.stores());
    look();
    phase(wave, &subject::look, look);
    phase(wave, &subject::shrink, look);
    for (const auto& each : on_.content()) each->check();
    workers_.go(wave);
    if (what_.leaked_bytes != 0) leak();
    made.syncs = syncs_until_now() - syncs;
    idle(made, wave);
    made.second = seconds_since(start_);
    return made;
  }

  /// Each role begins with another subject.
  void phase(u64 wave, void (subject::*step)(turn&), const std::function<void()>& meanwhile) {
    subjects& all = on_.content();
    workers_.all(
        [&](unsigned role) {
          turn of(role, wave, what_.seed);
          const std::size_t first = role * all.size() / roles;
          for (std::size_t i = 0; i < all.size(); ++i) {
            ((*all[(first + i) % all.size()]).*step)(of);
          }
        },
        meanwhile);
  }

  /// Waits until the library has come to rest, and then that nothing happens. On a disk a store
  /// comes to rest by looks that are a second apart, which the last wave of a period waits for; the
  /// others have nothing to show there.
  void idle(record& made, u64 wave) {
    const auto happened = [] { return std::pair(syncs_until_now(), sleeps_of_the_library()); };
    const bool is_last = wave % period == period - 1;
    const bool on_disk = what_.medium == "disk";
    const milliseconds quiet(on_disk && is_last ? 1500 : 150);
    const clock::time_point began = clock::now();
    auto before = happened();
    for (;;) {
      std::this_thread::sleep_for(quiet);
      const auto now = happened();
      if (now == before) break;
      before = now;
      if (seconds_since(began) > longest_settling) break;  // counted below
    }
    std::this_thread::sleep_for(milliseconds(is_last ? 2000 : 250));
    const auto after = happened();
    if (is_last || !on_disk) {
      made.idle_syncs = static_cast<std::int64_t>(after.first - before.first);
      made.idle_sleeps = static_cast<std::int64_t>(after.second - before.second);
    }
    ::malloc_trim(0);  // what malloc keeps is no part of what is measured
    made.end = process_sample();
    raise_to(made.end, on_.files());
    raise_to(made.end, on_.stores());
  }

  void leak() {
    char* const lost = static_cast<char*>(std::malloc(what_.leaked_bytes));
    if (lost == nullptr) throw std::bad_alloc();
    std::memset(lost, 1, what_.leaked_bytes);
    leaked_.push_back(lost);
  }

  void write(u64 wave) {
    const record& made = waves_.back();
    records_ << "{\"medium\":\"" << what_.medium << "\",\"wave\":" << wave
             << ",\"second\":" << std::fixed << std::setprecision(2) << made.second
             << ",\"most\":" << json(made.most) << ",\"end\":" << json(made.end)
             << ",\"syncs\":" << made.syncs << ",\"idle_syncs\":" << made.idle_syncs
             << ",\"idle_wake_ups\":" << made.idle_sleeps << "}" << std::endl;
  }

  [[nodiscard]] std::vector<verdict> verdicts() const {
    std::vector<verdict> all;
    for (const auto& each : waves_.front().end) {
      const by compared = each.first.ends_with("-free-bytes") ? by::least : by::greatest;
      all.push_back(verdict_of(each.first, " at the end of a wave", &record::end, compared));
    }
    for (const auto& each : waves_.front().most) {
      all.push_back(verdict_of(each.first, ", most in a wave", &record::most, by::average));
    }
    curve syncs{"device syncs while idle", {}};
    curve sleeps{"wake-ups of the library's threads while idle", {}};
    for (const record& wave : waves_) {
      syncs.waves.push_back(wave.idle_syncs);
      sleeps.waves.push_back(wave.idle_sleeps);
    }
    all.push_back(check_zero(syncs, period));
    all.push_back(check_zero(sleeps, period));
    return all;
  }

  [[nodiscard]] verdict verdict_of(const std::string& name, const char* when, sample record::* part,
                                   by compared) const {
    curve of{name + when, {}, what_.allowed, compared};
    if (name == "descriptors" || name == "threads") {
      of.allowed = {0, compared == by::average ? passing_count : 0};
    }
    if (name == "store-ring-bytes") of.allowed.more += max_of_ring;
    for (const record& wave : waves_) of.waves.push_back((wave.*part).at(name));
    return check_curve(of, period);
  }

  /// Descriptors and threads of a store that is opened and closed while others look.
  static constexpr std::int64_t passing_count = 4;
  /// What docs/guides/transactions.md promises of the last writes.
  static constexpr std::int64_t max_of_ring = std::int64_t{16} << 20;
  static constexpr double longest_settling = 10;

  const plan& what_;
  world& on_;
  std::ostream& records_;
  clock::time_point start_ = clock::now();
  workers workers_;
  std::vector<record> waves_;
  std::vector<char*> leaked_;
};

}  // namespace

result run(const plan& what, std::ostream& records) {
  const own_folder folder(what.folder);
  const std::unique_ptr<world> on = make_world(what.medium, folder.path(), what.families);
  result made = soak(what, *on, records).run();
  on->close();
  return made;
}

}  // namespace outlast::test::soak
