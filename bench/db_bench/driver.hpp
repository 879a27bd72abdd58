// Runs benchmarks on a store, one behind the other.
#pragma once

#include <bench/db_bench/benchmarks.hpp>
#include <bench/db_bench/outcome.hpp>
#include <bench/db_bench/store.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace outlast::bench {

/// What is done with a store between benchmarks, by names of the same list.
struct errand {
  std::string_view name;
  std::string_view what;
};
[[nodiscard]] const std::vector<errand>& errands();
/// Is there a benchmark or an errand of that name?
[[nodiscard]] bool is_known(std::string_view name);

/// A run of db_bench. Used by one thread. Throws std::runtime_error.
class driver {
 public:
  using sink = std::function<void(const outcome&)>;
  using notes = std::function<void(std::string_view)>;

  /// `told`: each outcome; `said`: what is for people alone. Removes what is in the directory, but
  /// for settings.use_existing.
  driver(const store_settings& settings, sink told, notes said);

  void run(std::string_view name);

 private:
  void run(const benchmark& which);
  void run_errand(std::string_view name);
  void open();
  void start_anew();
  /// Times an action that is one operation.
  template <class Action>
  void timed(std::string_view name, Action&& action);
  void tell(outcome& of);

  store_settings settings_;
  const engine& engine_;
  sink told_;
  notes said_;
  std::unique_ptr<store> store_;
  std::atomic<std::uint64_t> records_;
  std::uint64_t benchmarks_run_ = 0;
};

}  // namespace outlast::bench
