// What transactions take of memory and of the file, under two replicas: exact, but for the pages of
// the file system.
#include <bench/adapters/temporary_pool.hpp>
#include <bench/micro/micro.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>

#include <malloc.h>
#include <sys/stat.h>

namespace outlast::bench {
namespace {

using domain::adr;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// A file that goes with it.
class removed_file {
 public:
  explicit removed_file(const std::filesystem::path& directory) : path_(unused_path(directory)) {}
  ~removed_file() { remove(); }
  removed_file(const removed_file&) = delete;
  removed_file& operator=(const removed_file&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::size_t blocks_bytes() const {
    struct stat found{};
    return ::stat(path_.c_str(), &found) == 0 ? static_cast<std::size_t>(found.st_blocks) * 512 : 0;
  }
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

std::size_t volatile_bytes() {
  const struct mallinfo2 found = ::mallinfo2();
  return found.uordblks + found.hblkhd;
}

template <class Manager>
bool fits(const removed_file& file, std::size_t pool_bytes, std::size_t replica_bytes) {
  file.remove();
  auto pool = basic_pool<adr>::create(file.path(), {.size_bytes = pool_bytes});
  try {
    const Manager manager(pool, "measured", {.replica_bytes = replica_bytes, .replicas = 2});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// The largest replicas that fit twice, to a mebibyte.
template <class Manager>
std::size_t largest_replica(const removed_file& file, std::size_t pool_bytes) {
  std::size_t fitting = pool_bytes / 4;
  std::size_t too_large = pool_bytes / 2 + mebibyte;
  while (too_large - fitting > mebibyte) {
    const std::size_t middle = fitting + (too_large - fitting) / 2;
    (fits<Manager>(file, pool_bytes, middle) ? fitting : too_large) = middle;
  }
  return fitting;
}

/// Puts values until the region is full, or `most` of them. Returns the bytes of keys and values.
template <class Manager>
std::size_t fill(Manager& manager, std::size_t value_bytes, std::uint64_t most) {
  using tree = containers::bplus_tree<std::string, std::string>;
  constexpr std::uint64_t stride = 0x9e3779b97f4a7c15;  // odd: a bijection of the words
  constexpr std::size_t key_bytes = 16;
  const auto all = manager.template root<tree>("tree");
  const std::string value(value_bytes, 'v');
  std::size_t held = 0;
  try {
    for (std::uint64_t i = 0; i < most; ++i) {
      std::string key = std::to_string(i * stride);
      key.resize(key_bytes, '.');
      manager.update(all, [key, value](tree& in) { in.put(key, value); });
      held += key_bytes + value_bytes;
    }
  } catch (const std::bad_alloc&) {
    return held;
  }
  return held;
}

template <class Manager>
void measure_engine(const micro_settings& settings, const micro_sink& sink) {
  const std::size_t pool_bytes = (settings.quick ? 64 : 1024) * mebibyte;
  const std::uint64_t keys = settings.quick ? 20'000 : 1'000'000;
  const std::string engine(Manager::engine_name());
  const removed_file file(settings.pool_directory);
  const auto report = [&](const std::string& what, double value, const char* unit) {
    sink({"tx-memory", engine + ", 2 replicas: " + what, value, unit, 0, 1});
  };
  const auto per = [](std::size_t part, std::size_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  const std::size_t replica_bytes = largest_replica<Manager>(file, pool_bytes);
  for (const bool large : {true, false}) {
    file.remove();
    const std::size_t before = volatile_bytes();
    auto pool = basic_pool<adr>::create(file.path(), {.size_bytes = pool_bytes});
    Manager manager(pool, "measured", {.replica_bytes = replica_bytes, .replicas = 2});
    if (large) {
      report("volatile memory at start", per(volatile_bytes() - before, mebibyte), "MiB");
      const std::size_t held = fill(manager, 4000, ~std::uint64_t{0});
      report("values of 4,000 bytes that fit, of the file", per(held, pool_bytes), "share");
      report("file for values of 4,000 bytes", per(file.blocks_bytes(), held), "times the data");
    } else {
      const std::size_t held = fill(manager, 100, keys);
      report("file for keys of 16 and values of 100 bytes, in random order",
             per(file.blocks_bytes(), held), "times the data");
    }
  }
}

}  // namespace

void measure_tx_memory(const micro_settings& settings, const micro_sink& sink) {
  measure_engine<tx::left_right<adr>>(settings, sink);
  measure_engine<tx::redo_opt<adr>>(settings, sink);
}

}  // namespace outlast::bench
