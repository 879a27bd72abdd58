// Regions of a pool: reserved or not, whole, in pages of their own. They are never given back. And
// the growth of a pool, which makes room for them by itself.
#include <tests/catalogue/pool_subject.hpp>

#include <outlast/base/cache_line.hpp>

#include <optional>
#include <stdexcept>

namespace outlast::verify::detail {
namespace {

constexpr std::uint64_t page_bytes = pool_format::page_bytes;

/// The size of a region determines the value, below 4095: one page, two, or three.
std::size_t bytes_of(std::uint64_t value) { return value % 3 * page_bytes + value + 1; }
unsigned replicas_of(std::uint64_t value) { return 1 + value % 2; }

std::uint64_t value_of(const region_info& region) {
  const std::uint64_t value = region.bytes % page_bytes - 1;
  const bool whole = region.bytes == bytes_of(value) && region.replicas == replicas_of(value) &&
                     region.stride_bytes == base::round_up(region.bytes, page_bytes) &&
                     region.kind == region_kind::log;
  return whole ? value : torn;
}

/// A map whose keys are regions.
class region_world final : public world {
 public:
  explicit region_world(std::unique_ptr<simulated_pool> pool) : pool_(std::move(pool)) {}

  outcome apply(const call& what) override {
    const std::optional<region_info> found = pool_->find_region(name_of(what.key));
    switch (static_cast<map_operation>(what.kind)) {
      case map_operation::insert: return {!found && insert(what.key, what.argument)};
      case map_operation::get: return found ? outcome{true, value_of(*found)} : outcome{};
      default: return {found.has_value()};
    }
  }

  abstract_state observe() override {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
    for (const region_info& region : pool_->regions()) {
      entries.emplace_back(key_of(region.name), value_of(region));
    }
    return state_of(std::move(entries));
  }

  std::string check(bool) override { return check_accounts(*pool_); }

  void close() override { pool_->close(); }

 private:
  /// Now and then after an attempt for which there is no room.
  bool insert(std::uint64_t key, std::uint64_t value) {
    if (value % 4 == 3) try_too_much(key);
    reserve(key, value);
    return true;
  }

  void reserve(std::uint64_t key, std::uint64_t value) {
    static_cast<void>(
        pool_->reserve_region(name_of(key), region_kind::log, bytes_of(value), replicas_of(value)));
  }

  void try_too_much(std::uint64_t key) {
    try {
      static_cast<void>(
          pool_->reserve_region(name_of(key), region_kind::log, pool_->capacity_bytes()));
    } catch (const out_of_space&) {
      return;
    }
    throw std::logic_error("a region as large as the pool fits into it");
  }

  std::unique_ptr<simulated_pool> pool_;
};

}  // namespace

/// At most eight regions: they fit into 64 pages.
void add_regions(list& to) {
  using enum map_operation;
  const std::vector<map_operation> operations{insert, insert, contains, get};
  add_pool<region_world>(to, "pool_regions", operations,
                         {.threads = 1, .operations = 5, .keys = 8, .prefill = 3});
  add_pool<region_world>(to, "pool_growing", operations,
                         {.threads = 1, .operations = 5, .keys = 8, .prefill = 0}, 12);
}

}  // namespace outlast::verify::detail
