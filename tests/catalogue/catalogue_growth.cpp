// A pool that grows over several chunks of its descriptors, and is cut when roots are dropped.
#include <tests/catalogue/pool_subject.hpp>

#include <outlast/base/hash.hpp>

#include <cstring>

namespace outlast::verify::detail {
namespace {

using domain::simulated;

constexpr std::uint64_t fingerprint = 0x6772'6f77'7468'0001;
constexpr std::size_t first_pages = 12;
constexpr std::size_t memory_pages = 160;
constexpr std::size_t memory_bytes = memory_pages * pool_format::page_bytes;

/// The pages of the run that holds a value: from 9 to 33, so that few roots fill several chunks.
std::uint32_t pages_of(std::uint64_t value) {
  return 9 + static_cast<std::uint32_t>(value % 4) * 8;
}

/// A map whose keys are roots, each with a run of pages that begin with the value.
class growing_world final : public world {
 public:
  static constexpr unsigned format_version = 2;

  explicit growing_world(std::unique_ptr<simulated_pool> pool) : pool_(std::move(pool)) {}

  /// Uses all entries of the first chunk of roots but one.
  static void prepare(simulated_pool& pool) {
    void* object = nullptr;
    for (std::uint32_t i = 0; i + 1 < pool.first_roots(); ++i) {
      const attached_root root =
          pool.attach_root("other " + std::to_string(i), "run", fingerprint, false);
      if (object == nullptr) object = allocate(pool, root.index, 1);
      pool.publish_root(root.index, object);
      pool.detach_root(root.index, true);
    }
  }

  outcome apply(const call& what) override {
    switch (static_cast<map_operation>(what.kind)) {
      case map_operation::insert: return {!live(what.key) && insert(what.key, what.argument)};
      case map_operation::erase: return {live(what.key) && erase(what.key)};
      case map_operation::get: return live(what.key) ? outcome{true, get(what.key)} : outcome{};
      default: return {live(what.key)};
    }
  }

  abstract_state observe() override {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
    for (const root_info& root : pool_->roots()) {
      if (!root.live || !root.name.starts_with(key_prefix)) continue;
      entries.emplace_back(key_of(root.name), get(key_of(root.name)));
    }
    return state_of(std::move(entries));
  }

  std::string check(bool) override { return first_error(pool_->check()); }

  void close() override { pool_->close(); }

 private:
  static void* allocate(simulated_pool& pool, std::uint32_t owner, std::uint32_t pages) {
    return pool.pages().allocate_run(pool_format::run_kind::large, owner,
                                     static_cast<std::uint8_t>(pool_format::recovery_mode::trace),
                                     pages, std::uint64_t{pages} * pool_format::page_bytes);
  }

  [[nodiscard]] bool live(std::uint64_t key) const {
    for (const root_info& root : pool_->roots()) {
      if (root.live && root.name == name_of(key)) return true;
    }
    return false;
  }

  bool insert(std::uint64_t key, std::uint64_t value) {
    const attached_root root = pool_->attach_root(name_of(key), "run", fingerprint, false);
    const std::uint32_t pages = pages_of(value);
    if (value % 3 == 0) pool_->set_limit(pool_->limit_bytes() == 0 ? memory_bytes : 0);
    auto* const run = static_cast<std::byte*>(allocate(*pool_, root.index, pages));
    for (std::uint32_t page = 0; page < pages; ++page) {
      const std::uint64_t stamp = page == 0 ? value : base::mix64(value + page);
      std::byte* const at = run + std::size_t{page} * pool_format::page_bytes;
      simulated::write(at, &stamp, sizeof stamp);
      domain::flush<simulated>(at, sizeof stamp);
    }
    domain::fence<simulated>();
    pool_->publish_root(root.index, run);
    pool_->detach_root(root.index, true);
    return true;
  }

  bool erase(std::uint64_t key) {
    pool_->drop_root(name_of(key));
    pool_->trim();
    return true;
  }

  std::uint64_t get(std::uint64_t key) {
    const attached_root root = pool_->attach_root(name_of(key), "run", fingerprint, false);
    const auto* const run = reinterpret_cast<const std::byte*>(pool_->base() + root.object_offset);
    std::uint64_t value = 0;
    std::memcpy(&value, run, sizeof value);
    const std::uint32_t pages = pages_of(value);
    if (pool_->pages().block_bytes(run, root.index) != pages * pool_format::page_bytes)
      value = torn;
    for (std::uint32_t page = 1; page < pages && value != torn; ++page) {
      std::uint64_t stamp = 0;
      std::memcpy(&stamp, run + std::size_t{page} * pool_format::page_bytes, sizeof stamp);
      if (stamp != base::mix64(value + page)) value = torn;
    }
    pool_->detach_root(root.index, true);
    return value;
  }

  std::unique_ptr<simulated_pool> pool_;
};

}  // namespace

void add_growth(list& to) {
  using enum map_operation;
  add_pool<growing_world>(to, "pool_zones", {insert, insert, erase, contains, get},
                          {.threads = 1, .operations = 5, .keys = 3, .prefill = 2}, first_pages,
                          memory_pages);
}

}  // namespace outlast::verify::detail
