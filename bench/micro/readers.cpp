// Lookups of a reader in another process, beside those of a thread of the writer.
#include <bench/adapters/temporary_pool.hpp>
#include <bench/micro/interleaved.hpp>
#include <bench/micro/micro.hpp>
#include <outlast/lockfree/reader.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/pool_reader.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace outlast::bench {
namespace {

using number = std::uint64_t;
using table = lockfree::hash_table<number, number>;

constexpr double wanted_ratio = 0.9;

template <class Lookups>
batch lookups_of(const Lookups& in, number keys) {
  return [&in, keys](hand& mine) {
    constexpr number lookups = 100;
    for (number i = 0; i < lookups; ++i) mine.seen += in.get(mine.random() % keys).value_or(0);
    return lookups;
  };
}

/// A child that measures each time it is asked, by a byte through a pipe.
class measuring_process {
 public:
  /// `measure` is called in the child, and returns a rate.
  explicit measuring_process(const std::function<double()>& measure) {
    if (::pipe(ask_) != 0 || ::pipe(answer_) != 0) fail("make a pipe");
    id_ = ::fork();
    if (id_ < 0) fail("fork");
    if (id_ == 0) serve(measure);
    ::close(ask_[0]);
    ::close(answer_[1]);
  }
  ~measuring_process() {
    ::close(ask_[1]);
    ::close(answer_[0]);
    ::waitpid(id_, nullptr, 0);
  }
  measuring_process(const measuring_process&) = delete;
  measuring_process& operator=(const measuring_process&) = delete;

  [[nodiscard]] double measure() const {
    const char go = 1;
    double rate = 0;
    if (::write(ask_[1], &go, 1) != 1) fail("ask the reader");
    if (::read(answer_[0], &rate, sizeof rate) != sizeof rate) {
      throw std::runtime_error("the reader in another process has failed");
    }
    return rate;
  }

 private:
  [[noreturn]] static void fail(const char* action) {
    throw std::system_error(errno, std::generic_category(), std::string("cannot ") + action);
  }
  [[noreturn]] void serve(const std::function<double()>& measure) const {
    ::close(ask_[1]);
    char go = 0;
    try {
      while (::read(ask_[0], &go, 1) == 1) {
        const double rate = measure();
        if (::write(answer_[1], &rate, sizeof rate) != sizeof rate) break;
      }
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
    }
    ::_exit(0);
  }

  int ask_[2] = {};
  int answer_[2] = {};
  pid_t id_ = 0;
};

/// Changes values until it is destroyed.
class changing_thread {
 public:
  changing_thread(table& of, number keys)
      : thread_([this, &of, keys] {
          xoshiro256 random(7);
          while (!stop_.load(std::memory_order_relaxed)) {
            const number key = random() % keys;
            (void)of.erase(key);
            (void)of.insert(key, key);
          }
        }) {}
  ~changing_thread() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  changing_thread(const changing_thread&) = delete;
  changing_thread& operator=(const changing_thread&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void measure_with(const micro_settings& settings, const micro_sink& sink, number keys,
                  bool changes) {
  const std::filesystem::path path = unused_path(settings.pool_directory);
  const run_settings how = run_of(settings, 1, 0);
  // Begun before the pool is opened: it shares nothing with the writer but files.
  const measuring_process outside([&, reader = std::shared_ptr<pool_reader>(),
                                   view = std::shared_ptr<lockfree::reader<table>>()]() mutable {
    if (!reader) reader = std::make_shared<pool_reader>(path.string());
    if (!view) view = std::make_shared<lockfree::reader<table>>(*reader, "table");
    return mops_of(how, lookups_of(*view, keys));
  });
  pool_options options;
  options.size_bytes = (std::size_t{64} << 20) + keys * 128;
  options.format_version = 2;
  options.max_readers = 16;
  {
    auto pool = pool::create(path.string(), options);
    table inside(pool, "table");
    for (number key = 0; key < keys; ++key) (void)inside.insert(key, key);
    std::unique_ptr<changing_thread> changing;
    if (changes) changing = std::make_unique<changing_thread>(inside, keys);
    const std::string where =
        std::to_string(keys) + " keys, " + (changes ? "a thread that changes them" : "no changes");
    const auto goal = [&](micro_figure figure) {
      if (figure.unit == "ratio") figure.goal = micro_goal{wanted_ratio, true};
      sink(figure);
    };
    report_interleaved(
        goal, "readers", where, repetitions_of(settings), 0,
        {{"a thread of the writer", [&] { return mops_of(how, lookups_of(inside, keys)); }},
         {"another process", [&] { return outside.measure(); }}});
  }
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::filesystem::remove(path.string() + ".readers", ignored);
}

}  // namespace

void measure_readers(const micro_settings& settings, const micro_sink& sink) {
  for (const number keys : {number{1000}, number{settings.quick ? 100'000U : 1'000'000U}}) {
    for (const bool changes : {false, true}) measure_with(settings, sink, keys, changes);
  }
}

}  // namespace outlast::bench
