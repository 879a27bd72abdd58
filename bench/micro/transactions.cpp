// Transactions of all engines beside a mutex and others' undo log: exchanges in an array, a queue,
// sets; flushes and fences; where time goes; what it takes to open a large region. [Cor20, Figures
// 4 to 6, Table 1]
#include <bench/adapters/temporary_pool.hpp>
#include <bench/micro/interleaved.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/containers/array.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/list_set.hpp>
#include <outlast/containers/queue.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/counting.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <outlast/tx/transient.hpp>
#if OUTLAST_BENCH_LIBPMEMOBJ
#include <bench/peers/libpmemobj_manager.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace outlast::bench {
namespace {

using domain::adr;
using counted = domain::counting<adr>;
using steady = std::chrono::steady_clock;

/// Operations between two looks at the time.
constexpr std::uint64_t batch_operations = 64;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// A manager, and what it lies in.
template <class Manager>
class home {
 public:
  home(const std::filesystem::path& directory, std::size_t bytes)
      : pool_(directory, {.size_bytes = replicas * bytes + 16 * mebibyte}),
        manager_(pool_.get(), "measured", {.replica_bytes = bytes}) {}

  [[nodiscard]] Manager& manager() noexcept { return manager_; }

 private:
  static constexpr std::size_t replicas = 5;  // of all engines, and one to spare

  temporary_pool<typename Manager::domain_type> pool_;
  Manager manager_;
};
template <>
class home<tx::transient> {
 public:
  home(const std::filesystem::path&, std::size_t bytes) : manager_({.replica_bytes = bytes}) {}
  [[nodiscard]] tx::transient& manager() noexcept { return manager_; }

 private:
  tx::transient manager_;
};
#if OUTLAST_BENCH_LIBPMEMOBJ
template <>
class home<libpmemobj_manager> {
 public:
  home(const std::filesystem::path& directory, std::size_t bytes)
      : manager_(directory, {.replica_bytes = bytes}) {}
  [[nodiscard]] libpmemobj_manager& manager() noexcept { return manager_; }

 private:
  libpmemobj_manager manager_;
};
#endif

/// What is measured: a structure in an engine.
class tx_subject {
 public:
  tx_subject() = default;
  tx_subject(const tx_subject&) = delete;
  tx_subject& operator=(const tx_subject&) = delete;
  virtual ~tx_subject() = default;

  /// Transactions of one thread. Returns how many, or how many exchanges they were.
  virtual std::uint64_t run(hand& self) = 0;
  /// Another load for what follows: exchanges in a transaction, per cent of updates.
  virtual void set_load(unsigned load) = 0;
  /// At rest: everything is there. Throws std::runtime_error.
  virtual void check() = 0;

 protected:
  static void require(bool holds) {
    if (!holds) throw std::runtime_error("a structure lost or gained something");
  }
};

/// Exchanges of two entries of an array that are drawn at random, several in a transaction.
template <class Manager>
class exchanges final : public tx_subject {
  using array = containers::array<std::uint64_t>;

 public:
  exchanges(const std::filesystem::path& directory, std::uint64_t entries)
      : home_(directory, 8 * mebibyte + entries * 10),
        entries_(entries),
        all_(home_.manager().template root<array>("array")) {
    home_.manager().update(all_, [entries](array& all) {
      all.resize(entries);
      for (std::uint64_t i = 0; i < entries; ++i) all.set(i, i);
    });
  }

  void set_load(unsigned load) override { swaps_ = load; }

  std::uint64_t run(hand& self) override {
    for (std::uint64_t done = 0; done < batch_operations; ++done) {
      const std::uint64_t drawn = self.random();
      home_.manager().update(all_, [drawn, swaps = swaps_, entries = entries_](array& all) {
        std::uint64_t next = drawn;
        for (unsigned i = 0; i < swaps; ++i) {
          next = base::mix64(next + 1);
          all.swap((next >> 32) % entries, (next & 0xffff'ffff) % entries);
        }
      });
    }
    return batch_operations * swaps_;
  }

  void check() override {
    std::vector<bool> seen(entries_);
    home_.manager().read(all_, [&](const array& all) {
      for (std::uint64_t i = 0; i < entries_; ++i) seen.at(all.at(i)) = true;
    });
    require(std::find(seen.begin(), seen.end(), false) == seen.end());
  }

 private:
  home<Manager> home_;
  std::uint64_t entries_;
  unsigned swaps_ = 1;
  tx::root<array> all_;
};

/// Pushes and pops in turn, each a transaction; a thousand values are there at first.
template <class Manager>
class queued final : public tx_subject {
  using queue = containers::queue<std::uint64_t>;
  static constexpr std::uint64_t held_at_first = 1000;

 public:
  explicit queued(const std::filesystem::path& directory)
      : home_(directory, 8 * mebibyte), all_(home_.manager().template root<queue>("queue")) {
    for (std::uint64_t i = 0; i < held_at_first; ++i) push(i);
  }

  void set_load(unsigned) override {}

  std::uint64_t run(hand& self) override {
    for (std::uint64_t done = 0; done < batch_operations; done += 2) {
      push(done);
      self.seen += home_.manager().update(all_, [](queue& all) { return all.pop(); }).value();
    }
    return batch_operations;
  }

  void check() override {
    require(home_.manager().read(all_, [](const queue& all) { return all.size(); }) ==
            held_at_first);
  }

 private:
  void push(std::uint64_t value) {
    home_.manager().update(all_, [value](queue& all) { all.push(value); });
  }

  home<Manager> home_;
  tx::root<queue> all_;
};

/// How a set's keys are added, whatever it is.
struct into_set {
  template <class Set>
  static bool add(Set& to, std::uint64_t key) {
    if constexpr (requires { to.insert(key, key); }) {
      return to.insert(key, key);
    } else {
      return to.insert(key);
    }
  }
};

/// A set that keeps its size: an update removes a key and adds it again, in two transactions; other
/// operations look for a key. [Cor20, 6]
template <class Manager, class Set>
class keyed final : public tx_subject {
 public:
  keyed(const std::filesystem::path& directory, std::uint64_t keys)
      : home_(directory, 8 * mebibyte + keys * 176),
        keys_(keys),
        all_(home_.manager().template root<Set>("set")) {
    // Downwards, as lists have them; a share at a time.
    for (std::uint64_t left = keys; left > 0;) {
      const std::uint64_t share = std::min<std::uint64_t>(left, 1000);
      home_.manager().update(all_, [left, share](Set& all) {
        for (std::uint64_t i = 0; i < share; ++i) into_set::add(all, left - 1 - i);
      });
      left -= share;
    }
  }

  void set_load(unsigned load) override { percent_ = load; }

  std::uint64_t run(hand& self) override {
    for (std::uint64_t done = 0; done < batch_operations; done += 2) {
      if (self.random.below(100) < percent_) {
        const std::uint64_t key = self.random.below(keys_);
        const bool taken = home_.manager().update(all_, [key](Set& all) { return all.erase(key); });
        if (taken) {
          home_.manager().update(all_, [key](Set& all) { return into_set::add(all, key); });
        }
      } else {
        look(self);
        look(self);
      }
    }
    return batch_operations;
  }

  void check() override {
    std::uint64_t held = 0;
    home_.manager().read(all_, [&](const Set& all) {
      if constexpr (requires { all.insert(0, 0); }) {
        all.for_each([&](const auto&, const auto&) { ++held; });
      } else {
        all.for_each([&](const auto&...) { ++held; });
      }
    });
    require(held == keys_);
  }

 private:
  void look(hand& self) {
    const std::uint64_t key = self.random.below(keys_);
    self.seen += home_.manager().read(all_, [key](const Set& all) { return all.contains(key); });
  }

  home<Manager> home_;
  std::uint64_t keys_;
  unsigned percent_ = 100;
  tx::root<Set> all_;
};

template <class Manager>
using list = keyed<Manager, containers::list_set<std::uint64_t>>;
template <class Manager>
using tree = keyed<Manager, containers::red_black_tree<std::uint64_t, std::uint64_t>>;
template <class Manager>
using bplus_tree = keyed<Manager, containers::bplus_tree<std::uint64_t, std::uint64_t>>;
template <class Manager>
using table = keyed<Manager, containers::hash_map<std::uint64_t, std::uint64_t>>;

/// One structure in all engines, measured in turn.
template <template <class> class Subject>
class contest {
 public:
  template <class... Arguments>
  explicit contest(const Arguments&... arguments) {
    add<tx::transient>("mutex", arguments...);
    add<tx::left_right<adr>>("left_right", arguments...);
    add<tx::redo<adr>>("redo", arguments...);
    add<tx::redo_timed<adr>>("redo_timed", arguments...);
    add<tx::redo_opt<adr>>("redo_opt", arguments...);
    add<tx::cx_ptm<adr>>("cx_ptm", arguments...);
#if OUTLAST_BENCH_LIBPMEMOBJ
    references_.push_back(subjects_.size());
    add<libpmemobj_manager>("libpmemobj", arguments...);
#endif
  }

  void measure(const micro_settings& settings, const micro_sink& sink, const std::string& benchmark,
               const std::string& what, unsigned load) {
    for (auto& [name, subject] : subjects_) subject->set_load(load);
    for (const unsigned threads : threads_of(settings)) {
      const run_settings how = run_of(settings, threads, 0);
      std::vector<series> all;
      for (auto& [name, subject] : subjects_) {
        all.push_back({name, [&measured = *subject, how] {
                         return mops_of(how, [&](hand& self) { return measured.run(self); });
                       }});
      }
      report_interleaved(sink, benchmark, on_threads(what, threads), repetitions_of(settings),
                         references_, all);
    }
    for (auto& [name, subject] : subjects_) subject->check();
  }

 private:
  template <class Manager, class... Arguments>
  void add(const char* name, const Arguments&... arguments) {
    subjects_.emplace_back(name, std::make_unique<Subject<Manager>>(arguments...));
  }

  std::vector<std::pair<std::string, std::unique_ptr<tx_subject>>> subjects_;
  std::vector<std::size_t> references_ = {0};
};

constexpr unsigned update_percents[] = {100, 10, 1};

template <template <class> class Set>
void measure_sets_of(const micro_settings& settings, const micro_sink& sink, const char* name,
                     std::uint64_t keys) {
  contest<Set> all(settings.pool_directory, keys);
  for (const unsigned percent : update_percents) {
    all.measure(
        settings, sink, "tx-sets",
        name + (" of " + std::to_string(keys)) + " keys, " + std::to_string(percent) + " % updates",
        percent);
  }
}

std::uint64_t many(const micro_settings& settings) { return settings.quick ? 2'000 : 1'000'000; }

/// Exact: flushes and fences for each operation of one thread.
void count(const micro_settings& settings, const micro_sink& sink, const std::string& what,
           tx_subject& counted_one, unsigned load) {
  counted_one.set_load(load);
  hand self(1, 0);
  (void)counted_one.run(self);
  const base::thread_context& here = base::this_thread();
  const std::uint64_t flushes = here.flushes;
  const std::uint64_t fences = here.fences;
  std::uint64_t done = 0;
  while (done < (settings.quick ? 1'000U : 100'000U)) done += counted_one.run(self);
  const auto each = static_cast<double>(done);
  sink({"tx-counts", what + ", flushes", static_cast<double>(here.flushes - flushes) / each,
        "per operation", 0, 1});
  sink({"tx-counts", what + ", fences", static_cast<double>(here.fences - fences) / each,
        "per operation", 0, 1});
}

template <class Manager>
void count_engine(const micro_settings& settings, const micro_sink& sink) {
  const std::string engine(Manager::engine_name());
  exchanges<Manager> array(settings.pool_directory, many(settings));
  count(settings, sink, engine + ": 1 exchange", array, 1);
  count(settings, sink, engine + ": 64 exchanges in a transaction, each", array, 64);
  queued<Manager> queue(settings.pool_directory);
  count(settings, sink, engine + ": queue", queue, 0);
  table<Manager> hash(settings.pool_directory, many(settings));
  count(settings, sink, engine + ": hash map, 100 % updates", hash, 100);
}

/// Microseconds per operation of `subject`, by how many threads do them at a time.
double microseconds_of(const run_settings& how, tx_subject& subject) {
  return 1 / mops_of(how, [&](hand& self) { return subject.run(self); });
}

/// Where time goes: the operation itself, on one thread, under a mutex that nobody else wants; what
/// the engine adds to it where nothing is flushed; what flushes and fences add to that.
template <template <class> class Subject, template <domain::persistence_domain> class Engine,
          class... Arguments>
void break_down(const micro_settings& settings, const micro_sink& sink, const std::string& what,
                unsigned load, const Arguments&... arguments) {
  Subject<tx::transient> bare(arguments...);
  Subject<Engine<domain::process>> unflushed(arguments...);
  Subject<Engine<adr>> whole(arguments...);
  for (tx_subject* each : {static_cast<tx_subject*>(&bare), static_cast<tx_subject*>(&unflushed),
                           static_cast<tx_subject*>(&whole)}) {
    each->set_load(load);
  }
  for (const unsigned threads : threads_of(settings)) {
    const run_settings how = run_of(settings, threads, 0);
    std::vector<double> operation;
    std::vector<double> engine;
    std::vector<double> flushes;
    for (unsigned i = 0; i < repetitions_of(settings); ++i) {
      operation.push_back(microseconds_of(run_of(settings, 1, 0), bare));
      const double without = microseconds_of(how, unflushed);
      engine.push_back(without - operation.back());
      flushes.push_back(microseconds_of(how, whole) - without);
    }
    const std::string subject =
        on_threads(what + ", " + std::string(Engine<adr>::engine_name()), threads);
    report_values(sink, {"tx-costs", subject + ": the operation", 0, "us"}, operation);
    report_values(sink, {"tx-costs", subject + ": the engine", 0, "us"}, engine);
    report_values(sink, {"tx-costs", subject + ": flushes and fences", 0, "us"}, flushes);
  }
}

template <template <domain::persistence_domain> class Engine>
void break_down_engine(const micro_settings& settings, const micro_sink& sink) {
  break_down<exchanges, Engine>(settings, sink, "1 exchange", 1, settings.pool_directory,
                                many(settings));
  break_down<exchanges, Engine>(settings, sink, "64 exchanges", 64, settings.pool_directory,
                                many(settings));
  break_down<queued, Engine>(settings, sink, "queue", 0, settings.pool_directory);
  break_down<tree, Engine>(settings, sink, "tree, 100 % updates", 100, settings.pool_directory,
                           many(settings));
  break_down<table, Engine>(settings, sink, "hash map, 100 % updates", 100, settings.pool_directory,
                            many(settings));
}

double milliseconds_since(steady::time_point start) {
  return std::chrono::duration<double, std::milli>(steady::now() - start).count();
}

/// A pool file with a full hash map that nobody has closed.
template <class Manager>
void measure_reopening(const micro_settings& settings, const micro_sink& sink) {
  using map = containers::hash_map<std::uint64_t, std::uint64_t>;
  const std::uint64_t keys = settings.quick ? 2'000 : 8'000'000;
  const std::size_t bytes = 8 * mebibyte + keys * 128;
  const std::filesystem::path path = unused_path(settings.pool_directory);
  {
    auto pool = basic_pool<adr>::create(path.string(), {.size_bytes = 5 * bytes + 16 * mebibyte});
    Manager manager(pool, "measured", {.replica_bytes = bytes});
    const auto all = manager.template root<map>("map");
    for (std::uint64_t first = 0; first < keys; first += 1000) {
      manager.update(all, [first](map& in) {
        for (std::uint64_t key = first; key < first + 1000; ++key) in.insert(key, key);
      });
    }
  }
  std::vector<double> opened;
  std::vector<double> read;
  std::vector<double> updated;
  for (unsigned i = 0; i < std::min(repetitions_of(settings), 3U); ++i) {
    const steady::time_point start = steady::now();
    auto pool = basic_pool<adr>::open(path.string());
    Manager manager(pool, "measured");
    const auto all = manager.template root<map>("map");
    opened.push_back(milliseconds_since(start));
    const steady::time_point before_read = steady::now();
    const bool found = manager.read(all, [keys](const map& in) { return in.contains(keys - 1); });
    read.push_back(milliseconds_since(before_read));
    if (!found) throw std::runtime_error("a key was lost");
    const steady::time_point before_update = steady::now();
    manager.update(all, [](map& in) { in.put(0, 1); });
    updated.push_back(milliseconds_since(before_update));
  }
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  const std::string subject = std::string(Manager::engine_name()) + ", hash map of " +
                              std::to_string(keys) + " keys after a kill: ";
  report_values(sink, {"tx-reopen", subject + "pool and manager", 0, "ms"}, opened);
  report_values(sink, {"tx-reopen", subject + "first read", 0, "ms"}, read);
  report_values(sink, {"tx-reopen", subject + "first update", 0, "ms"}, updated);
}

}  // namespace

void measure_tx_exchanges(const micro_settings& settings, const micro_sink& sink) {
  contest<exchanges> all(settings.pool_directory, many(settings));
  for (const unsigned swaps : {1U, 4U, 16U, 64U}) {
    all.measure(
        settings, sink, "tx-sps",
        std::to_string(swaps) + (swaps == 1 ? " exchange" : " exchanges") + " in a transaction",
        swaps);
  }
}

void measure_tx_costs(const micro_settings& settings, const micro_sink& sink) {
  break_down_engine<tx::left_right>(settings, sink);
  break_down_engine<tx::redo>(settings, sink);
  break_down_engine<tx::redo_timed>(settings, sink);
  break_down_engine<tx::redo_opt>(settings, sink);
  break_down_engine<tx::cx_ptm>(settings, sink);
}

void measure_tx_queues(const micro_settings& settings, const micro_sink& sink) {
  contest<queued> all(settings.pool_directory);
  all.measure(settings, sink, "tx-queue", "queue", 0);
}

void measure_tx_sets(const micro_settings& settings, const micro_sink& sink) {
  measure_sets_of<list>(settings, sink, "list", settings.quick ? 100 : 10'000);
  measure_sets_of<tree>(settings, sink, "tree", many(settings));
  measure_sets_of<bplus_tree>(settings, sink, "B+-tree", many(settings));
  measure_sets_of<table>(settings, sink, "hash map", many(settings));
}

void measure_tx_counts(const micro_settings& settings, const micro_sink& sink) {
  count_engine<tx::left_right<counted>>(settings, sink);
  count_engine<tx::redo<counted>>(settings, sink);
  count_engine<tx::redo_timed<counted>>(settings, sink);
  count_engine<tx::redo_opt<counted>>(settings, sink);
  count_engine<tx::cx_ptm<counted>>(settings, sink);
}

void measure_tx_reopening(const micro_settings& settings, const micro_sink& sink) {
  measure_reopening<tx::left_right<adr>>(settings, sink);
  measure_reopening<tx::redo_opt<adr>>(settings, sink);
}

}  // namespace outlast::bench
