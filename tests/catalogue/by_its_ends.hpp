// Lookups that go by the order of keys, or by all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace outlast::verify::detail {

/// A map whose three keys are looked for from its ends and by a range.
template <class Map>
class by_its_ends : public Map {
  using value_type = typename Map::mapped_type;

 public:
  using Map::Map;

  [[nodiscard]] std::optional<value_type> get(std::uint64_t key) const {
    if (key == 1) return of_key(key, Map::min());
    if (key == 3) return of_key(key, Map::max());
    std::optional<value_type> found;
    Map::for_each_in(key, key + 1, [&](std::uint64_t, const value_type& held) { found = held; });
    return found;
  }
  [[nodiscard]] bool contains(std::uint64_t key) const { return get(key).has_value(); }

 private:
  static std::optional<value_type> of_key(
      std::uint64_t key, const std::optional<std::pair<std::uint64_t, value_type>>& end) {
    return end && end->first == key ? std::optional(end->second) : std::nullopt;
  }
};

/// A map in which a key is looked for by visiting all.
template <class Map>
class by_walks : public Map {
  using value_type = typename Map::mapped_type;

 public:
  using Map::Map;

  [[nodiscard]] std::optional<value_type> get(std::uint64_t key) const {
    std::optional<value_type> found;
    Map::for_each([&](std::uint64_t each, const value_type& held) {
      if (each == key) found = held;
    });
    return found;
  }
  [[nodiscard]] bool contains(std::uint64_t key) const { return get(key).has_value(); }
};

}  // namespace outlast::verify::detail
