// Maps whose keys are strings, as scenarios see them: by numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::verify::detail {

/// A map of strings. Key n is n letters and more than fits a line, so keys lie out of line, all of
/// different lengths, in the order of their numbers.
template <class Map>
class by_strings : public Map {
  using value_type = typename Map::mapped_type;

 public:
  using Map::Map;

  bool insert(std::uint64_t key, const value_type& value = {}) {
    return Map::insert(named(key), value);
  }
  bool erase(std::uint64_t key) { return Map::erase(named(key)); }
  bool put(std::uint64_t key, const value_type& value) { return Map::put(named(key), value); }
  bool update(std::uint64_t key, const value_type& value) { return Map::update(named(key), value); }
  [[nodiscard]] bool contains(std::uint64_t key) const { return Map::contains(named(key)); }
  [[nodiscard]] std::optional<value_type> get(std::uint64_t key) const {
    return Map::get(named(key));
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    Map::for_each([&](std::string_view key, const value_type& value) {
      visit(std::uint64_t{key.size() - letters}, value);
    });
  }

 private:
  static constexpr std::size_t letters = 48;

  static std::string named(std::uint64_t key) { return std::string(letters + key, 'k'); }
};

}  // namespace outlast::verify::detail
