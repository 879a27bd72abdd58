#include <bench/db_bench/driver.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace outlast::bench {
namespace {

double seconds(bench_clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Of another benchmark another one, also in another process; threads add their numbers.
std::uint64_t seed_for(std::uint64_t seed, std::string_view benchmark, std::uint64_t run) {
  for (const char each : benchmark) seed = splitmix64(seed + static_cast<unsigned char>(each))();
  return splitmix64(seed + run)();
}

/// The threads of one benchmark: all begin when all are there. They are not pinned to CPUs: what a
/// store starts in one of them would have to share its CPU.
class crew {
 public:
  crew(store& on, const benchmark& which, common_state& common, unsigned threads)
      : store_(on), which_(which), common_(common), measured_(threads) {
    common.measured.store(threads, std::memory_order_relaxed);
    const unsigned all = threads + (which.beside != nullptr ? 1 : 0);
    workers_.resize(all);
    for (unsigned id = 0; id < all; ++id) threads_.emplace_back([this, id] { work(id); });
  }
  ~crew() { join(); }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  /// Rethrows what one of them has thrown.
  outcome result() {
    join();
    if (failed_) std::rethrow_exception(failed_);
    outcome sum;
    auto began = workers_[0]->did.began;
    auto ended = workers_[0]->did.ended;
    for (unsigned id = 0; id < measured_; ++id) {
      const tally& did = workers_[id]->did;
      sum.operations += did.operations;
      sum.bytes += did.bytes;
      sum.found += did.found;
      sum.sought += did.sought;
      sum.thread_seconds += seconds(did.ended - did.began);
      sum.each.merge(did.each);
      began = std::min(began, did.began);
      ended = std::max(ended, did.ended);
    }
    sum.seconds = seconds(ended - began);
    if (workers_.size() > measured_) sum.operations_beside = workers_.back()->did.operations;
    return sum;
  }

 private:
  void join() {
    for (std::thread& each : threads_) {
      if (each.joinable()) each.join();
    }
  }

  void work(unsigned id) {
    try {
      workers_[id].emplace(common_, id, store_.connect());
    } catch (...) {
      fail();
    }
    await_all();
    if (workers_[id]) {
      try {
        run(*workers_[id], id < measured_);
      } catch (...) {
        fail();
      }
      workers_[id]->at.reset();
    }
    if (id < measured_) common_.measured.fetch_sub(1, std::memory_order_relaxed);
  }

  void run(worker& self, bool is_measured) {
    self.did.began = bench_clock::now();
    (is_measured ? which_.run : which_.beside)(self);
    self.did.ended = bench_clock::now();
  }

  void await_all() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (++ready_ == workers_.size()) all_ready_.notify_all();
    all_ready_.wait(lock, [this] { return ready_ == workers_.size(); });
  }

  void fail() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failed_) failed_ = std::current_exception();
  }

  store& store_;
  const benchmark& which_;
  common_state& common_;
  unsigned measured_;
  std::vector<std::optional<worker>> workers_;
  std::mutex mutex_;
  std::condition_variable all_ready_;
  std::size_t ready_ = 0;
  std::exception_ptr failed_;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace

const std::vector<errand>& errands() {
  static const std::vector<errand> all = {
      {"open", "close the store, and time how long it takes to open it"},
      {"close", "time how long it takes to close it"},
      {"compact", "tidy up all that the store can"},
      {"stats", "what the store says about itself, its files and its memory"},
      {"kill", "end this process by SIGKILL, as a crash would"},
  };
  return all;
}

bool is_known(std::string_view name) {
  const auto has_name = [name](const auto& one) { return one.name == name; };
  return std::any_of(benchmarks().begin(), benchmarks().end(), has_name) ||
         std::any_of(errands().begin(), errands().end(), has_name);
}

driver::driver(const store_settings& settings, sink told, notes said)
    : settings_(settings),
      engine_(find_engine(settings.engine)),
      told_(std::move(told)),
      said_(std::move(said)),
      records_(settings.use_existing ? settings.keys : 0) {
  if (!settings_.use_existing) engine_.destroy(settings_);
}

void driver::run(std::string_view name) {
  for (const benchmark& one : benchmarks()) {
    if (one.name == name) return run(one);
  }
  run_errand(name);
}

void driver::run(const benchmark& which) {
  if (which.start == starts_with::nothing) {
    if (settings_.use_existing) {
      return said_(std::string(which.name) + " : skipped (--use_existing_db is true)");
    }
    start_anew();
  }
  open();
  const bool sync = settings_.sync || which.how == writes::synced;
  store_->sync_each_write(sync);
  common_state common;
  common.settings = &settings_;
  common.records = &records_;
  common.seed = seed_for(settings_.seed, which.name, ++benchmarks_run_);
  if (which.start == starts_with::what_is_there) common.limit_s = settings_.duration_s;
  const unsigned threads = which.threads != 0 ? which.threads : settings_.threads;
  outcome of = crew(*store_, which, common, threads).result();
  if (which.name == "ycsbload") records_ = settings_.keys;
  of.benchmark = which.name;
  of.threads = threads;
  of.sync = sync;
  tell(of);
}

void driver::run_errand(std::string_view name) {
  if (name == "open") {
    store_.reset();
    timed(name, [this] { open(); });
  } else if (name == "close") {
    open();
    timed(name, [this] { store_.reset(); });
  } else if (name == "compact") {
    open();
    timed(name, [this] { store_->compact(); });
  } else if (name == "stats") {
    open();
    const memory_use memory = memory_use::of_this_process();
    said_(store_->describe() + "\nfiles: " + std::to_string(bytes_in(settings_.directory)) +
          " bytes; memory: " + std::to_string(memory.now_kib) + " KiB, at most " +
          std::to_string(memory.max_kib) + " KiB, " + std::to_string(memory.anonymous_kib) +
          " KiB of them without files");
    outcome of;
    of.benchmark = name;
    if (settings_.json) tell(of);
  } else if (name == "kill") {
    std::raise(SIGKILL);
  } else {
    throw std::runtime_error("there is no benchmark '" + std::string(name) + "'");
  }
}

void driver::open() {
  if (store_ == nullptr) {
    std::filesystem::create_directories(settings_.directory);
    store_ = engine_.open(settings_);
  }
}

void driver::start_anew() {
  store_.reset();
  engine_.destroy(settings_);
  records_ = 0;
}

template <class Action>
void driver::timed(std::string_view name, Action&& action) {
  const bench_clock::time_point began = bench_clock::now();
  action();
  outcome of;
  of.benchmark = name;
  of.sync = settings_.sync;
  of.operations = 1;
  of.seconds = of.thread_seconds = seconds(bench_clock::now() - began);
  tell(of);
}

void driver::tell(outcome& of) {
  of.file_bytes = bytes_in(settings_.directory);
  if (store_ != nullptr) of.data_bytes = store_->data_bytes();
  told_(of);
}

}  // namespace outlast::bench
