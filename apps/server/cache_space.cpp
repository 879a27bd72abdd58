// The key space of a server in cache mode.
#include <apps/server/key_space.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/periodic_thread.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/epoch/bounded_cache.hpp>
#include <outlast/epoch/clock.hpp>
#include <outlast/pool/backup_result.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/server/cached_items.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <sys/stat.h>

namespace outlast::apps {
namespace {

/// A cache in a pool with the domain of its medium.
template <domain::persistence_domain D>
class cache_space final : public key_space {
  using policy = epoch::buffered<D>;
  using cache_type = epoch::basic_bounded_cache<policy>;

 public:
  explicit cache_space(const cache_settings& wanted)
      : pool_(basic_pool<D>::open_or_create(wanted.file, pool_for(wanted))),
        clock_(configured(pool_, wanted)),
        cache_(std::make_unique<cache_type>(
            pool_, "items",
            epoch::bounded_cache_options{.limit_bytes = wanted.evicts ? wanted.limit_bytes : 0})),
        items_(*cache_) {
    sweeper_.start(std::chrono::milliseconds(20), [this] { return sweep(); });
  }
  ~cache_space() override { sweeper_.stop(); }

  server::item_space& items() override { return items_; }
  void hasten(server::token wanted) override { clock_.hasten(wanted); }
  bool has_failed() const override { return clock_.has_failed(); }
  std::string backup(const std::string& path, const std::function<void()>& look) override {
    clock_.sync();  // the copy is as after a crash, which removes the epochs that are not durable
    const backup_result copied =
        pool_.backup(path, [&](std::uint64_t /*done*/, std::uint64_t /*all*/) { look(); });
    return "; a change waited for at most " + std::to_string(copied.longest_stop_seconds()) + " s";
  }
  [[nodiscard]] std::uint64_t backup_bytes() const override {
    // The holes of the file have no bytes, and are not copied.
    struct stat status{};
    const bool is_known = ::stat(pool_.path().c_str(), &status) == 0;
    return is_known ? static_cast<std::uint64_t>(status.st_blocks) * 512 : cache_->bytes();
  }
  void close() override {
    sweeper_.stop();
    cache_.reset();
    pool_.close();
  }

 private:
  /// Without eviction the pool has a limit, so that the cache can be full.
  static pool_options pool_for(const cache_settings& wanted) {
    pool_options options;
    if (!wanted.evicts) options.capacity_bytes = wanted.limit_bytes + wanted.limit_bytes / 4;
    if (options.capacity_bytes != 0) {
      options.size_bytes = std::min(options.size_bytes, options.capacity_bytes);
    }
    return options;
  }
  static auto& configured(basic_pool<D>& pool, const cache_settings& wanted) {
    auto& clock = epoch::clock_of(pool);
    clock.configure({.epoch_length = wanted.epoch_length});
    return clock;
  }
  /// Frees what has expired in the next buckets.
  bool sweep() {
    constexpr std::size_t buckets = 512;
    try {
      cursor_ = cache_->sweep(cursor_, buckets, now_ms());
    } catch (const error&) {
      // The next change reports it: the device has failed, or the pool is full for the moment.
    } catch (const std::bad_alloc&) {
    }
    return true;
  }

  basic_pool<D> pool_;
  epoch::clock<D>& clock_;
  std::unique_ptr<cache_type> cache_;
  server::cached_items<policy> items_;
  std::uint64_t cursor_ = 0;
  base::periodic_thread sweeper_;
};

}  // namespace

std::unique_ptr<key_space> open_cache(const cache_settings& wanted) {
  const std::string directory = std::filesystem::path(wanted.file).parent_path().string();
  const bool is_on_disk =
      store_detail::medium_of(directory.empty() ? "." : directory) == store_detail::medium::disk;
  if (is_on_disk) return std::make_unique<cache_space<domain::file>>(wanted);
  return std::make_unique<cache_space<domain::native>>(wanted);
}

}  // namespace outlast::apps
