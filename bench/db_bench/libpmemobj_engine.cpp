// A hash table of byte strings on libpmemobj: striped locks, a transaction for each write. What its
// users write for want of a store.
#include <bench/db_bench/map_session.hpp>
#include <bench/db_bench/store.hpp>

#include <bench/peers/libpmemobj_pool.hpp>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>

namespace outlast::bench {
namespace {

constexpr const char* layout = "outlast-db-bench";

struct node {
  PMEMoid next;
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;

  [[nodiscard]] char* key() { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] char* value() { return key() + key_bytes; }
};

struct table {
  PMEMoid buckets;
  std::uint64_t mask;
};

std::string file_of(const store_settings& settings) { return settings.directory + "/pool.obj"; }

class pmem_table final : public store {
 public:
  explicit pmem_table(const store_settings& settings)
      : pool_(opened(settings)), root_(root_of(pool_)) {
    if (root_->mask != 0) return;
    const std::uint64_t buckets = std::bit_ceil(settings.keys | 1);
    libpmemobj_transaction all(pool_);
    all.will_change(*root_);
    root_->buckets = all.allocate_zeroed(buckets * sizeof(PMEMoid));
    root_->mask = buckets - 1;
    all.commit();
  }
  ~pmem_table() override { pmemobj_close(pool_); }

  void sync_each_write(bool) override {}
  std::unique_ptr<session> connect() override;
  void compact() override {}
  std::string describe() override { return std::to_string(root_->mask + 1) + " buckets"; }

  void put(std::string_view key, std::string_view value) {
    const std::uint64_t bucket = bucket_of(key);
    const std::unique_lock alone(lock_of(bucket));
    PMEMoid& link = link_to(bucket, key);
    libpmemobj_transaction all(pool_);
    if (!OID_IS_NULL(link) && at(link)->value_bytes == value.size()) {
      all.will_change(at(link)->value(), value.size());
      std::memcpy(at(link)->value(), value.data(), value.size());
    } else {
      const PMEMoid gone = link;
      const PMEMoid fresh = all.allocate(sizeof(node) + key.size() + value.size());
      *at(fresh) = {OID_IS_NULL(gone) ? OID_NULL : at(gone)->next,
                    static_cast<std::uint32_t>(key.size()),
                    static_cast<std::uint32_t>(value.size())};
      std::memcpy(at(fresh)->key(), key.data(), key.size());
      std::memcpy(at(fresh)->value(), value.data(), value.size());
      all.will_change(link);
      link = fresh;
      if (!OID_IS_NULL(gone)) all.free(gone);
    }
    all.commit();
  }

  void erase(std::string_view key) {
    const std::uint64_t bucket = bucket_of(key);
    const std::unique_lock alone(lock_of(bucket));
    PMEMoid& link = link_to(bucket, key);
    if (OID_IS_NULL(link)) return;
    libpmemobj_transaction all(pool_);
    const PMEMoid gone = link;
    all.will_change(link);
    link = at(gone)->next;
    all.free(gone);
    all.commit();
  }

  bool get(std::string_view key, std::string& value) {
    const std::uint64_t bucket = bucket_of(key);
    const std::shared_lock with_readers(lock_of(bucket));
    const PMEMoid found = link_to(bucket, key);
    if (OID_IS_NULL(found)) return false;
    value.assign(at(found)->value(), at(found)->value_bytes);
    return true;
  }

 private:
  static constexpr std::size_t stripes = 1024;
  struct alignas(128) lock {
    std::shared_mutex mutex;
  };

  static node* at(PMEMoid oid) { return static_cast<node*>(pmemobj_direct(oid)); }

  static PMEMobjpool* opened(const store_settings& settings) {
    force_libpmemobj_to_flush();
    const std::string file = file_of(settings);
    PMEMobjpool* pool = nullptr;
    if (std::filesystem::exists(file)) {
      pool = pmemobj_open(file.c_str(), layout);
    } else {
      constexpr std::size_t least = std::size_t{64} << 20;
      const std::size_t entry = 160 + settings.key_prefix_bytes + 2 * settings.value_bytes;
      pool = pmemobj_create(file.c_str(), layout, least + settings.keys * entry, 0644);
    }
    if (pool == nullptr) throw std::runtime_error(pmemobj_errormsg());
    return pool;
  }

  static table* root_of(PMEMobjpool* pool) {
    return static_cast<table*>(pmemobj_direct(pmemobj_root(pool, sizeof(table))));
  }

  [[nodiscard]] std::uint64_t bucket_of(std::string_view key) const {
    return std::hash<std::string_view>{}(key)&root_->mask;
  }
  [[nodiscard]] std::shared_mutex& lock_of(std::uint64_t bucket) {
    return locks_[bucket % stripes].mutex;
  }

  /// The link to the node of `key`, or the last one. The caller holds the lock.
  [[nodiscard]] PMEMoid& link_to(std::uint64_t bucket, std::string_view key) const {
    PMEMoid* link = static_cast<PMEMoid*>(pmemobj_direct(root_->buckets)) + bucket;
    while (!OID_IS_NULL(*link) && std::string_view(at(*link)->key(), at(*link)->key_bytes) != key) {
      link = &at(*link)->next;
    }
    return *link;
  }

  PMEMobjpool* pool_;
  table* root_;
  std::array<lock, stripes> locks_;
};

std::unique_ptr<session> pmem_table::connect() {
  return std::make_unique<map_session<pmem_table>>(*this);
}

std::unique_ptr<store> open(const store_settings& settings) {
  return std::make_unique<pmem_table>(settings);
}

void destroy(const store_settings& settings) { std::filesystem::remove(file_of(settings)); }

}  // namespace

engine libpmemobj_engine() {
  return {"libpmemobj", "libpmemobj " + std::to_string(PMEMOBJ_MAJOR_VERSION) + ", a hash table",
          open, destroy, false};
}

}  // namespace outlast::bench
