// A bounded cache as the key space of a server.
#pragma once

#include <outlast/epoch/bounded_cache.hpp>
#include <outlast/server/items.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::server {

/// The items of an epoch::bounded_cache. A token is an epoch of the pool's clock. Requires: the
/// cache lives longer. Thread-safety, progress, durability and errors: as the cache.
template <class Policy>
class cached_items final : public item_space {
 public:
  explicit cached_items(epoch::basic_bounded_cache<Policy>& cache) : cache_(cache) {}

  bool read(std::string_view key, std::int64_t now_ms, use how, reader look) override {
    return cache_.read(key, now_ms, how, look);
  }
  change_result modify(std::string_view key, std::int64_t now_ms, decider decide) override {
    return cache_.modify(key, now_ms, decide);
  }
  void together(base::function_ref<void()> work) override { cache_.together(work); }
  token erase_all(std::int64_t now_ms, std::int64_t from_ms) override {
    return from_ms <= now_ms ? cache_.erase_all() : cache_.erase_all_at(from_ms);
  }
  std::uint64_t scan(std::uint64_t cursor, std::size_t count, std::int64_t now_ms,
                     visitor visit) override {
    return cache_.scan(cursor, count, now_ms, visit);
  }

  [[nodiscard]] std::uint64_t items() const override { return cache_.size_estimate(); }
  [[nodiscard]] std::uint64_t bytes() const override { return cache_.bytes(); }
  [[nodiscard]] std::uint64_t limit_bytes() const override { return cache_.limit_bytes(); }
  bool set_limit_bytes(std::uint64_t bytes) override {
    if (cache_.limit_bytes() == 0) return false;
    cache_.set_limit_bytes(bytes);
    return true;
  }
  [[nodiscard]] std::uint64_t evictions() const override { return cache_.evictions(); }
  [[nodiscard]] token durable_token() const override { return cache_.pool_clock().durable_epoch(); }
  [[nodiscard]] token present_token() const override { return cache_.pool_clock().now(); }
  [[nodiscard]] std::string guarantee() const override { return cache_.pool_clock().guarantee(); }

 private:
  epoch::basic_bounded_cache<Policy>& cache_;
};

}  // namespace outlast::server
