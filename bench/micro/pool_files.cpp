// The files of pools of format version 2: their length after rounds of filling and erasing, and the
// time to open one of 1 TiB.
#include <bench/adapters/temporary_pool.hpp>
#include <bench/engine/random.hpp>
#include <bench/micro/interleaved.hpp>
#include <bench/micro/store_runs.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/lockfree/hash_table.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace outlast::bench {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t gibibyte = std::size_t{1} << 30;

double in_mebibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(mebibyte);
}

/// The name of a pool, whose file is removed with the object.
class pool_name {
 public:
  explicit pool_name(const std::filesystem::path& directory) : path_(unused_path(directory)) {}
  pool_name(const pool_name&) = delete;
  pool_name& operator=(const pool_name&) = delete;
  ~pool_name() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::uint64_t length() const {
    return static_cast<std::uint64_t>(status().st_size);
  }
  /// Returns the bytes that the file takes of its file system.
  [[nodiscard]] std::uint64_t stored() const {
    return static_cast<std::uint64_t>(status().st_blocks) * 512;
  }

 private:
  [[nodiscard]] struct stat status() const {
    struct stat found{};
    if (::stat(path_.c_str(), &found) != 0) {
      throw std::system_error(errno, std::generic_category(), path_.string());
    }
    return found;
  }

  std::filesystem::path path_;
};

// ---- Filling and erasing ----

/// Returns the bytes of the blocks in use in a closed pool, as the close has recorded them. These
/// are the items with their links, and the arrays of buckets.
std::uint64_t bytes_of_blocks(const std::string& path) {
  pool held = pool::open(path);
  std::uint64_t bytes = 0;
  held.pages().for_each_run([&](std::uint32_t first, pool_format::run_word run) {
    const std::uint64_t block = held.pages().line(first).block_size;
    if (run.kind == pool_format::run_kind::large) bytes += block;
    if (run.kind != pool_format::run_kind::small) return;
    for (std::uint32_t page = first; page < first + run.pages; ++page) {
      for (const auto& word : held.pages().line(page).occupied) {
        bytes += block * static_cast<std::uint64_t>(std::popcount(word.load()));
      }
    }
  });
  held.close();
  return bytes;
}

enum class erasing { oldest_first, at_random };

/// A table, and the keys in it.
template <std::size_t value_bytes>
class refilled_table {
  using table = lockfree::hash_table<std::uint64_t, std::array<char, value_bytes>>;

 public:
  static constexpr std::size_t entry_bytes = sizeof(std::uint64_t) + value_bytes;

  void attach(pool& in) {
    table_ = std::make_unique<table>(in, "values of " + std::to_string(value_bytes));
  }
  void detach() { table_.reset(); }
  [[nodiscard]] std::uint64_t live_bytes() const { return keys_.size() * entry_bytes; }

  void fill(std::uint64_t bytes) {
    std::array<char, value_bytes> value{};
    while (live_bytes() < bytes) {
      value[next_ % value_bytes] = static_cast<char>(next_);
      (void)table_->insert(next_, value);
      keys_.push_back(next_++);
    }
  }
  void erase_down_to(std::uint64_t bytes, erasing order, xoshiro256& random) {
    while (live_bytes() > bytes) {
      if (order == erasing::at_random) std::swap(keys_.front(), keys_[random() % keys_.size()]);
      (void)table_->erase(keys_.front());
      keys_.pop_front();
    }
  }

 private:
  std::unique_ptr<table> table_;
  std::deque<std::uint64_t> keys_;
  std::uint64_t next_ = 0;
};

/// A pool with four tables that is filled and erased again and again.
class refilling {
 public:
  refilling(const micro_settings& settings, const micro_sink& sink, erasing order)
      : sink_(sink),
        file_(settings.pool_directory),
        order_(order),
        is_quick_(settings.quick),
        full_bytes_((settings.quick ? 4 : 512) * mebibyte),
        row_(medium_name(settings.pool_directory) +
             (order == erasing::oldest_first ? ", oldest first" : ", at random")) {}

  void run() {
    constexpr unsigned rounds = 10;
    for (unsigned round = 1; round <= rounds; ++round) {
      pool held = pool::open_or_create(
          file_.path(),
          {.size_bytes = 8 * mebibyte, .capacity_bytes = 8 * gibibyte, .format_version = 2});
      for_each([&](auto& each) { each.attach(held); });
      for_each([&](auto& each) { each.fill(full_bytes_ / table_count); });
      report(round, "full");
      for_each(
          [&](auto& each) { each.erase_down_to(full_bytes_ / table_count / 10, order_, random_); });
      for_each([&](auto& each) { each.detach(); });
      held.trim();
      report(round, "trimmed");
      held.close();
      report(round, "closed");
    }
  }

 private:
  using tables = std::tuple<refilled_table<100>, refilled_table<400>, refilled_table<1000>,
                            refilled_table<3000>>;
  static constexpr std::size_t table_count = std::tuple_size_v<tables>;

  template <class Visit>
  void for_each(Visit&& visit) {
    std::apply([&](auto&... each) { (visit(each), ...); }, tables_);
  }

  void report(unsigned round, const std::string& moment) {
    std::uint64_t items = 0;
    for_each([&](const auto& each) { items += each.live_bytes(); });
    const std::string where = row_ + ", round " + std::to_string(round) + ", " + moment + ": ";
    const auto row = [&](const std::string& what, double value, const std::string& unit,
                         std::optional<micro_goal> goal = std::nullopt) {
      sink_({.benchmark = "refill",
             .subject = where + what,
             .value = value,
             .unit = unit,
             .repetitions = 1,
             .goal = is_quick_ ? std::nullopt : goal});
    };
    const double stored = in_mebibytes(file_.stored());
    row("keys and values", in_mebibytes(items), "MiB");
    row("length", in_mebibytes(file_.length()), "MiB");
    row("stored", stored, "MiB");
    row("stored / keys and values", stored / in_mebibytes(items), "times");
    if (moment != "closed") return;
    const double live = in_mebibytes(bytes_of_blocks(file_.path()));
    row("live bytes", live, "MiB");
    row("stored / live bytes", stored / live, "times");
    row("stored beyond 1.2 times the live bytes", stored - 1.2 * live, "MiB",
        micro_goal{64, false});
  }

  const micro_sink& sink_;
  pool_name file_;
  erasing order_;
  bool is_quick_;
  std::uint64_t full_bytes_;
  std::string row_;
  tables tables_;
  xoshiro256 random_{1};
};

// ---- Opening ----

using steady = std::chrono::steady_clock;
using wide_table = lockfree::hash_table<std::uint64_t, std::array<char, 1000>>;

double milliseconds_since(steady::time_point start) {
  return std::chrono::duration<double, std::milli>(steady::now() - start).count();
}

/// A closed pool of 1 TiB with a table of `keys` keys. Most of the file is a region without
/// contents, so that no end of the file is free and cut off.
void make_large_pool(const pool_name& file, std::uint64_t keys) {
  constexpr std::size_t region_bytes = 1024 * gibibyte;
  pool held =
      pool::create(file.path(), {.size_bytes = region_bytes + 40 * gibibyte, .format_version = 2});
  (void)held.reserve_region("most", region_kind::log, region_bytes);
  {
    wide_table filled(held, "table", {.buckets = std::max<std::uint64_t>(keys, 16)});
    for (std::uint64_t key = 0; key < keys; ++key) (void)filled.insert(key);
  }
  held.close();
}

void open_large(const micro_settings& settings, const micro_sink& sink,
                const std::filesystem::path& directory, std::uint64_t keys) {
  const pool_name file(directory);
  make_large_pool(file, keys);
  std::vector<double> opened, attached;
  for (unsigned i = 0; i < (settings.quick ? 3U : 20U); ++i) {
    const steady::time_point start = steady::now();
    pool held = pool::open(file.path());
    opened.push_back(milliseconds_since(start));
    {
      const wide_table found(held, "table");
      attached.push_back(milliseconds_since(start));
    }
    held.close();
  }
  const std::string row = medium_name(directory) + ", clean pool of " +
                          std::to_string(file.length() / gibibyte) + " GiB with " +
                          std::to_string(keys) + " values of 1000 bytes, ";
  const auto figure = [&](const std::string& what, const std::string& unit, bool has_goal) {
    micro_figure one{.benchmark = "open-large", .subject = row + what, .unit = unit};
    if (has_goal && !settings.quick) one.goal = micro_goal{10, false};
    return one;
  };
  report_values(sink, figure("stored", "MiB", false), {in_mebibytes(file.stored())});
  report_values(sink, figure("opening", "ms", true), opened);
  report_values(sink, figure("longest opening", "ms", true),
                {*std::max_element(opened.begin(), opened.end())});
  report_values(sink, figure("opening and table", "ms", true), attached);
}

}  // namespace

void measure_refill(const micro_settings& settings, const micro_sink& sink) {
  for (const erasing order : {erasing::oldest_first, erasing::at_random}) {
    refilling(settings, sink, order).run();
  }
}

void measure_large_open(const micro_settings& settings, const micro_sink& sink) {
  const std::uint64_t many = settings.quick ? 10'000 : 1'000'000;
  for (const auto& directory : {settings.pool_directory, settings.disk_directory}) {
    for (const std::uint64_t keys : {std::uint64_t{100}, many}) {
      open_large(settings, sink, directory, keys);
    }
  }
}

void measure_pools(const micro_settings& settings, const micro_sink& sink) {
  measure_growth(settings, sink);
  measure_growth_on_disk(settings, sink);
  measure_refill(settings, sink);
  measure_large_open(settings, sink);
  measure_backup(settings, sink);
}

}  // namespace outlast::bench
