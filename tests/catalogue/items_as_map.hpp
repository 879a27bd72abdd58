// A bounded cache as scenarios see it: a map of numbers whose items never expire.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::verify::detail {

/// The bound is never reached, because an eviction would remove a key without an operation.
template <class Cache>
class items_as_map {
  using item = typename Cache::item_type;
  using change = typename Cache::change_type;

 public:
  using pool_type = typename Cache::pool_type;
  using key_type = std::uint64_t;
  using mapped_type = std::uint64_t;
  using policy_type = typename Cache::policy_type;

  items_as_map(pool_type& pool, const std::string& name,
               const typename Cache::options_type& options = {})
      : cache_(pool, name, options) {}

  bool insert(std::uint64_t key, std::uint64_t value) { return store(key, value, true, false); }
  bool update(std::uint64_t key, std::uint64_t value) { return store(key, value, false, true); }
  bool put(std::uint64_t key, std::uint64_t value) { return !store(key, value, true, true); }
  bool erase(std::uint64_t key) { return cache_.erase(std::to_string(key), now_ms); }
  bool contains(std::uint64_t key) { return cache_.get(std::to_string(key), now_ms).has_value(); }
  std::optional<std::uint64_t> get(std::uint64_t key) {
    const auto found = cache_.get(std::to_string(key), now_ms);
    if (!found) return std::nullopt;
    return std::stoull(*found);
  }
  void clear() { cache_.erase_all(); }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::uint64_t at = 0;;) {
      at = cache_.scan(at, 1, now_ms, [&](std::string_view key, const item& of) {
        visit(std::uint64_t{std::stoull(std::string(key))},
              std::uint64_t{std::stoull(std::string(of.value))});
      });
      if (at == 0) return;
    }
  }
  auto& pool_clock() noexcept { return cache_.pool_clock(); }

 private:
  static constexpr std::int64_t now_ms = 1;

  /// Returns what an insert or an update does, or whether the key was present if both are wanted.
  bool store(std::uint64_t key, std::uint64_t value, bool if_absent, bool if_present) {
    const std::string text = std::to_string(value);
    bool was_there = false;
    const bool stored = cache_
                            .modify(std::to_string(key), now_ms,
                                    [&](const item* at) {
                                      was_there = at != nullptr;
                                      change to;
                                      if (was_there ? !if_present : !if_absent) return to;
                                      to.what = change::kind::put;
                                      to.front = text;
                                      return to;
                                    })
                            .changed;
    return if_absent && if_present ? was_there : stored;
  }

  Cache cache_;
};

}  // namespace outlast::verify::detail
