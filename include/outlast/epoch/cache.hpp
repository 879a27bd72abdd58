// A cache with memcached's operations inside the process, whose content outlives it.
//
//   outlast::epoch::cache cache(pool, "sessions");
//   cache.set("user:7", state, {.expires_in = 30min});
//   std::optional<std::string> there = cache.get("user:7");
//
// A hash_map of byte strings. Each value begins with the data that memcached keeps for an item:
// flags, the time at which it expires, and a number that changes with each change. [Wen21, 6.2]
//
// When not to use: if items must be evicted when space is short. This cache rejects new items in a
// full pool.
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/policies.hpp>
#include <outlast/pool/pool.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace outlast::epoch {

/// How an item is stored.
struct item_options {
  std::chrono::seconds expires_in{0};  ///< 0: never; negative: it has expired already
  std::uint32_t flags = 0;             ///< the caller's own
};

/// An item with what is kept beside it.
struct cached_item {
  std::string value;
  std::uint32_t flags;
  std::uint64_t unique;  ///< another one after each change, for cas()
};

enum class cas_result { stored, exists, not_found };

struct cache_options {
  map_options table = {};
  /// Returns the seconds since 1970, by which items expire.
  std::function<std::int64_t()> now = [] {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since).count();
  };
};

/// A cache of byte strings. An item that has expired is absent for every operation. A later
/// operation that changes its key frees its space, and so does purge().
///
/// Thread-safety: all members may be called concurrently. Progress and durability: as
/// epoch::hash_map; each operation is atomic.
template <class Policy>
class basic_cache {
  using D = typename Policy::domain_type;
  using map_type = basic_hash_map<Policy, std::string, std::string>;
  using step = change<std::string>;

 public:
  using pool_type = basic_pool<D>;

  /// Attaches the cache `name` in `pool`. Creates it if there is none. Throws as hash_map.
  basic_cache(pool_type& pool, std::string_view name, const cache_options& options = {})
      : map_(pool, name, options.table), now_(options.now) {
    std::uint64_t greatest = 0;
    map_.for_each([&](std::string_view, std::string_view stored) {
      greatest = std::max(greatest, head_of(stored).unique);
    });
    kept_.store(map_.kept_number(), std::memory_order_relaxed);
    unique_.store(std::max(greatest, map_.kept_number()), std::memory_order_relaxed);
  }

  /// Returns the value, or nothing.
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const {
    std::optional<std::string> found;
    read(key, [&](const head&, std::string_view value) { found.emplace(value); });
    return found;
  }
  /// Returns the value with its flags and number, or nothing.
  [[nodiscard]] std::optional<cached_item> gets(std::string_view key) const {
    std::optional<cached_item> found;
    read(key, [&](const head& of, std::string_view value) {
      found.emplace(cached_item{std::string(value), of.flags, of.unique});
    });
    return found;
  }

  /// Stores the item, present or not. Throws out_of_space without effect, as all members that
  /// store.
  void set(std::string_view key, std::string_view value, const item_options& how = {}) {
    map_.modify(key, [&](const std::string_view*) { return step::to(stored(value, how)); });
  }
  /// Stores if the key is absent.
  bool add(std::string_view key, std::string_view value, const item_options& how = {}) {
    return map_.modify(key, [&](const std::string_view* now) {
      return live(now) ? step::nothing() : step::to(stored(value, how));
    });
  }
  /// Stores if the key is present.
  bool replace(std::string_view key, std::string_view value, const item_options& how = {}) {
    return map_.modify(key, [&](const std::string_view* now) {
      return live(now) ? step::to(stored(value, how)) : step::nothing();
    });
  }
  /// Stores if the item still has that number.
  cas_result cas(std::string_view key, std::string_view value, std::uint64_t unique,
                 const item_options& how = {}) {
    cas_result result = cas_result::not_found;
    map_.modify(key, [&](const std::string_view* now) {
      if (!live(now)) return step::nothing();
      const bool is_that = head_of(*now).unique == unique;
      result = is_that ? cas_result::stored : cas_result::exists;
      return is_that ? step::to(stored(value, how)) : step::nothing();
    });
    return result;
  }
  /// Adds bytes after the value, or before it. Returns false if the key is absent.
  bool append(std::string_view key, std::string_view more) {
    return extend(key, [&](std::string_view value) { return std::string(value).append(more); });
  }
  bool prepend(std::string_view key, std::string_view more) {
    return extend(key, [&](std::string_view value) { return std::string(more).append(value); });
  }
  /// Adds to a value that is a decimal number, modulo 2^64; decr() stops at 0. Returns the new
  /// number, or nothing if the key is absent or its value is not such a number.
  std::optional<std::uint64_t> incr(std::string_view key, std::uint64_t by = 1) {
    return count(key, [by](std::uint64_t now) { return now + by; });
  }
  std::optional<std::uint64_t> decr(std::string_view key, std::uint64_t by = 1) {
    return count(key, [by](std::uint64_t now) { return now - std::min(now, by); });
  }
  /// Changes the time at which the item expires. Returns false if the key is absent.
  bool touch(std::string_view key, std::chrono::seconds expires_in) {
    return map_.modify(key, [&](const std::string_view* now) {
      if (!live(now)) return step::nothing();
      head changed = head_of(*now);
      changed.expires = expiry(expires_in);
      return step::to(joined(changed, value_of(*now)));
    });
  }
  /// Removes the item. Returns false if the key is absent.
  bool erase(std::string_view key) {
    bool was_live = false;
    map_.modify(key, [&](const std::string_view* now) {
      was_live = live(now);
      return step::erase();
    });
    return was_live;
  }

  /// Frees expired items. Returns their number.
  std::size_t purge() {
    std::vector<std::string> keys;
    map_.for_each([&](std::string_view key, std::string_view stored) {
      if (!live(&stored)) keys.emplace_back(key);
    });
    std::size_t gone = 0;
    for (const std::string& key : keys) {
      gone += map_.modify(key, [&](const std::string_view* now) {
        return live(now) ? step::nothing() : step::erase();
      });
    }
    return gone;
  }

  /// Blocks until every operation that has returned is durable. As clock::sync().
  void sync() { map_.sync(); }
  /// Returns the number of items, including expired items that are not freed yet.
  [[nodiscard]] std::size_t size_estimate() const { return map_.size_estimate(); }
  [[nodiscard]] map_type& map() noexcept { return map_; }

 private:
  static constexpr std::uint64_t numbers_at_once = std::uint64_t{1} << 20;

  /// The beginning of a stored value. On media: docs/formats/epoch.md.
  struct head {
    std::uint64_t unique;
    std::int64_t expires;  ///< seconds since 1970; 0: never
    std::uint32_t flags;
    std::uint32_t reserved;
  };
  static_assert(sizeof(head) == 24);

  /// The item of a value that is too short: an item that has expired.
  static head head_of(std::string_view stored) noexcept {
    head found{0, -1, 0, 0};
    if (stored.size() >= sizeof found) std::memcpy(&found, stored.data(), sizeof found);
    return found;
  }
  static std::string_view value_of(std::string_view stored) noexcept {
    return stored.substr(std::min(stored.size(), sizeof(head)));
  }
  static std::string joined(const head& front, std::string_view value) {
    std::string all(reinterpret_cast<const char*>(&front), sizeof front);
    return all.append(value);
  }

  [[nodiscard]] bool live(const std::string_view* stored) const {
    if (stored == nullptr) return false;
    const std::int64_t expires = head_of(*stored).expires;
    return expires == 0 || expires > now_();
  }
  [[nodiscard]] std::int64_t expiry(std::chrono::seconds in) const {
    if (in.count() == 0) return 0;
    if (in.count() < 0) return -1;
    constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    const std::int64_t now = now_();
    return now > 0 && in.count() > never - now ? never : now + in.count();
  }
  /// Returns a number that no item ever had, also after a crash. The number kept with the map is
  /// greater than all. It is raised by many numbers together, because that waits until it is
  /// durable.
  [[nodiscard]] std::uint64_t next_unique() {
    const std::uint64_t next = unique_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (next > kept_.load(std::memory_order_relaxed)) [[unlikely]] {
      kept_.raise_to(map_.keep_number(next, numbers_at_once), std::memory_order_relaxed);
    }
    return next;
  }
  [[nodiscard]] std::string stored(std::string_view value, const item_options& how) {
    return joined(head{next_unique(), expiry(how.expires_in), how.flags, 0}, value);
  }

  template <class Look>
  void read(std::string_view key, Look&& look) const {
    map_.read(key, [&](std::string_view stored) {
      if (live(&stored)) look(head_of(stored), value_of(stored));
    });
  }
  template <class Extended>
  bool extend(std::string_view key, Extended&& extended) {
    return map_.modify(key, [&](const std::string_view* now) {
      if (!live(now)) return step::nothing();
      head changed = head_of(*now);
      changed.unique = next_unique();
      return step::to(joined(changed, extended(value_of(*now))));
    });
  }
  template <class Next>
  std::optional<std::uint64_t> count(std::string_view key, Next&& next) {
    std::optional<std::uint64_t> result;
    map_.modify(key, [&](const std::string_view* now) {
      if (!live(now)) return step::nothing();
      const std::string_view digits = value_of(*now);
      std::uint64_t number = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error != std::errc() || end != digits.data() + digits.size()) return step::nothing();
      result = next(number);
      head changed = head_of(*now);
      changed.unique = next_unique();
      return step::to(joined(changed, std::to_string(*result)));
    });
    return result;
  }

  map_type map_;
  std::function<std::int64_t()> now_;
  domain::volatile_word<D, std::uint64_t> unique_{0};  ///< the greatest that was given
  domain::volatile_word<D, std::uint64_t> kept_{0};    ///< no greater one than that is durable
};

/// The cache for pools that detect at run time how their file becomes durable.
using cache = basic_cache<buffered<>>;

}  // namespace outlast::epoch
