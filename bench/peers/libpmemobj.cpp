#include <bench/peers/libpmemobj.hpp>

#include <bench/peers/libpmemobj_pool.hpp>
#include <outlast/base/hash.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace outlast::bench {
namespace {

/// A chained table with a fixed number of buckets and a reader-writer lock for each stripe of them.
/// One transaction for each insertion and deletion; a value is changed by one store of 8 bytes.
class locked_map {
 public:
  explicit locked_map(const subject_options& options)
      : pool_(options.pool_directory, bytes_for(options.mix.size)),
        mask_(std::bit_ceil(options.mix.size) - 1),
        locks_(std::make_unique<std::array<lock, stripes>>()) {
    PMEMoid memory = OID_NULL;
    if (pmemobj_zalloc(pool_.get(), &memory, (mask_ + 1) * sizeof(PMEMoid), 0) != 0)
      fail_in_libpmemobj();
    buckets_ = static_cast<PMEMoid*>(pmemobj_direct(memory));
  }

  bool insert(std::uint64_t key) { return put(key, ~key); }

  bool erase(std::uint64_t key) {
    const std::uint64_t bucket = bucket_of(key);
    const std::unique_lock alone(lock_of(bucket));
    PMEMoid& link = link_to(bucket, key);
    if (OID_IS_NULL(link)) return false;
    libpmemobj_transaction all(pool_);
    const PMEMoid gone = link;
    all.will_change(link);
    link = at(gone)->next;
    all.free(gone);
    all.commit();
    return true;
  }

  bool contains(std::uint64_t key) {
    const std::uint64_t bucket = bucket_of(key);
    const std::shared_lock with_readers(lock_of(bucket));
    const PMEMoid found = link_to(bucket, key);
    return !OID_IS_NULL(found) && at(found)->value == ~key;
  }

  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t keys = 0;
    for (std::uint64_t bucket = 0; bucket <= mask_; ++bucket) {
      for (PMEMoid each = buckets_[bucket]; !OID_IS_NULL(each); each = at(each)->next) ++keys;
    }
    return keys;
  }

 private:
  static constexpr std::size_t stripes = 1024;

  struct node {
    PMEMoid next;
    std::uint64_t key;
    std::uint64_t value;
  };
  struct alignas(128) lock {
    std::shared_mutex mutex;
  };

  static std::size_t bytes_for(std::uint64_t keys) { return (std::size_t{64} << 20) + keys * 192; }
  static node* at(PMEMoid oid) { return static_cast<node*>(pmemobj_direct(oid)); }

  [[nodiscard]] std::uint64_t bucket_of(std::uint64_t key) const {
    return base::mix64(key) & mask_;
  }
  [[nodiscard]] std::shared_mutex& lock_of(std::uint64_t bucket) {
    return (*locks_)[bucket % stripes].mutex;
  }

  /// The link to the node of `key`, or the last one. The caller holds the lock.
  [[nodiscard]] PMEMoid& link_to(std::uint64_t bucket, std::uint64_t key) const {
    PMEMoid* link = &buckets_[bucket];
    while (!OID_IS_NULL(*link) && at(*link)->key != key) link = &at(*link)->next;
    return *link;
  }

  bool put(std::uint64_t key, std::uint64_t value) {
    const std::uint64_t bucket = bucket_of(key);
    const std::unique_lock alone(lock_of(bucket));
    const PMEMoid present = link_to(bucket, key);
    if (!OID_IS_NULL(present)) {
      at(present)->value = value;
      pmemobj_persist(pool_.get(), &at(present)->value, sizeof value);
      return false;
    }
    libpmemobj_transaction all(pool_);
    const PMEMoid fresh = all.allocate(sizeof(node));
    *at(fresh) = {buckets_[bucket], key, value};
    all.will_change(buckets_[bucket]);
    buckets_[bucket] = fresh;
    all.commit();
    return true;
  }

  libpmemobj_pool pool_;
  std::uint64_t mask_;
  PMEMoid* buckets_ = nullptr;
  std::unique_ptr<std::array<lock, stripes>> locks_;
};

}  // namespace

void add_libpmemobj(registry& all) {
  const auto make = [](const subject_options& options) -> std::unique_ptr<subject> {
    return std::make_unique<set_subject<locked_map>>(options);
  };
  all.add({{"hash_map", "libpmemobj", "adr"}, make, {}});
}

}  // namespace outlast::bench
