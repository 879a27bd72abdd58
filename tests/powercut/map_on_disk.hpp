// Sets and maps in a pool file under power cuts.
#pragma once

#include <outlast/pool/pool.hpp>
#include <outlast/verify/lossy_file.hpp>
#include <outlast/verify/map_subject.hpp>
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

/// `Structure` is a set or map of std::uint64_t as verify::map_subject wants it, on a domain of the
/// kind `file`.
template <class Structure>
class map_on_disk final : public file_subject {
  using pool_type = typename Structure::pool_type;
  using world_type = verify::map_world<Structure>;
  static constexpr bool is_set =
      std::is_same_v<typename Structure::mapped_type, lockfree::no_value>;

 public:
  using parts = typename verify::map_subject<Structure>::parts;

  explicit map_on_disk(parts how) : how_(std::move(how)), judge_(how_.operations, !is_set) {}

  [[nodiscard]] const verify::oracle& judge() const override { return judge_; }

  void create(const std::string& path) override {
    pool_options chosen = options();
    chosen.base_address = address;
    pool_type pool = pool_type::create(path, chosen);
    verify::poison(pool.pages());
    pool.close();
  }

  [[nodiscard]] std::unique_ptr<verify::world> open(const std::string& path, bool grow) override {
    std::unique_ptr<pool_type> pool(new pool_type(pool_type::open(path, options())));
    for (const pool_format::finding& each : pool->check()) {
      if (each.level == pool_format::severity::error) throw std::runtime_error(each.sentence);
    }
    if (grow) pool->grow(std::min(pool->size_bytes() + growth_bytes, pool->capacity_bytes()));
    return std::make_unique<world_type>(std::move(pool), how_.make, how_.blocks);
  }

 private:
  static constexpr std::size_t growth_bytes = std::size_t{64} << 10;
  /// The same in every run, since tables of flit-counters are entered by address.
  static constexpr std::uintptr_t address = 0x5521'0000'0000;

  /// As small as the structure allows: images are copied whole.
  [[nodiscard]] pool_options options() const {
    pool_options chosen;
    chosen.size_bytes = how_.memory_bytes;
    chosen.capacity_bytes = 2 * how_.memory_bytes;
    chosen.per_operation_device_sync = true;
    return chosen;
  }

  parts how_;
  verify::map_oracle judge_;
};

}  // namespace outlast::test::powercut
