// Sets and maps in a pool file under power cuts.
#pragma once

#include <outlast/pool/pool.hpp>
#include <outlast/root/storable.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/machine/lossy_file.hpp>
#include <tests/powercut/power_cuts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::test::powercut {

/// How big the pools are: as small as structures allow, since images are copied whole.
[[nodiscard]] inline pool_options options_on_disk(std::size_t memory_bytes) {
  pool_options chosen;
  chosen.size_bytes = memory_bytes;
  chosen.capacity_bytes = 2 * memory_bytes;
  chosen.log_bytes = std::size_t{16} << 10;  // checkpoints are frequent
  chosen.per_operation_device_sync = true;
  return chosen;
}

template <class Pool>
void create_on_disk(const std::string& path, pool_options chosen) {
  // The same in every run, since tables of flit-counters are entered by address.
  chosen.base_address = 0x5521'0000'0000;
  Pool pool = Pool::create(path, chosen);
  verify::poison(pool.pages());
  pool.close();
}

template <class Pool>
[[nodiscard]] std::unique_ptr<Pool> open_on_disk(const std::string& path,
                                                 const pool_options& chosen, bool grow) {
  constexpr std::size_t growth_bytes = std::size_t{64} << 10;
  std::unique_ptr<Pool> pool(new Pool(Pool::open(path, chosen)));
  for (const pool_format::finding& each : pool->check()) {
    if (each.level == pool_format::severity::error) throw std::runtime_error(each.sentence);
  }
  if (grow) pool->grow(std::min(pool->size_bytes() + growth_bytes, pool->capacity_bytes()));
  return pool;
}

/// `Structure` is a set or map of std::uint64_t as verify::map_subject wants it, on a domain of the
/// kind `file` or `logged_file`.
template <class Structure>
class map_on_disk final : public file_subject {
  using pool_type = typename Structure::pool_type;
  using world_type = verify::map_world<Structure>;
  static constexpr bool is_set = std::is_same_v<typename Structure::mapped_type, roots::no_value>;

 public:
  using parts = typename verify::map_subject<Structure>::parts;

  explicit map_on_disk(parts how) : how_(std::move(how)), checker_(how_.operations, !is_set) {}

  [[nodiscard]] const verify::oracle& checker() const override { return checker_; }

  void create(const std::string& path) override {
    create_on_disk<pool_type>(path, options_on_disk(how_.memory_bytes));
  }

  [[nodiscard]] std::unique_ptr<verify::world> open(const std::string& path, bool grow) override {
    auto pool = open_on_disk<pool_type>(path, options_on_disk(how_.memory_bytes), grow);
    return std::make_unique<world_type>(std::move(pool), how_.make, how_.blocks);
  }

 private:
  parts how_;
  verify::map_oracle checker_;
};

}  // namespace outlast::test::powercut
