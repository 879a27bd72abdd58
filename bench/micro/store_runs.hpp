// Runs of db_bench in processes of their own, and the figures that they give.
#pragma once

#include <bench/micro/micro.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::bench {

/// What db_bench said of one benchmark.
struct store_result {
  double operations_per_second = 0;
  double seconds = 0;
  double p99_9_us = 0;
  double max_us = 0;
  double found = 0;  ///< of the keys that were sought
  double sought = 0;
  double file_bytes = 0;
  double data_bytes = 0;  ///< 0: the store does not say
  double vm_hwm_kib = 0;
  double rss_anon_kib = 0;
};
using store_results = std::map<std::string, store_result>;

/// A directory for a store, which goes with its owner.
class store_directory {
 public:
  explicit store_directory(const std::filesystem::path& in);
  ~store_directory();
  store_directory(const store_directory&) = delete;
  store_directory& operator=(const store_directory&) = delete;

  [[nodiscard]] std::string name() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// The stores that the db_bench beside this program knows. Throws std::runtime_error if there is
/// none.
[[nodiscard]] std::vector<std::string> known_engines();

/// Runs db_bench with these flags and --json, in a process of its own: its memory is that of one
/// store, and no other store's threads run beside. A run that kills itself is as good as one that
/// ends. Throws std::runtime_error.
[[nodiscard]] store_results run_db_bench(std::vector<std::string> flags);

/// "tmpfs", or "disk" for whatever else a directory may lie on.
[[nodiscard]] std::string medium_name(const std::filesystem::path& directory);

/// Of rows that are about speed.
inline constexpr const char* rate_unit = "Kops/s";

/// What should come out: a row's value for `series`, or its ratio to that of `against`.
struct store_goal {
  std::string row;
  std::string series;
  std::string against;  ///< "": none, the value itself
  micro_goal wanted;
};

/// Values of several series, row by row, one for each repetition.
class store_table {
 public:
  void add(const std::string& row, const std::string& unit, const std::string& series,
           double value);
  /// Medians of each series, and where they are rates of the ratios of `first` to each other one in
  /// the same repetition; rows and series in the order in which they came.
  void report(const micro_sink& sink, const std::string& benchmark, const std::string& first,
              const std::vector<store_goal>& goals) const;

 private:
  struct row_of_series {
    std::string name;
    std::string unit;
    std::vector<std::pair<std::string, std::vector<double>>> series;
  };

  std::vector<row_of_series> rows_;
};

}  // namespace outlast::bench
