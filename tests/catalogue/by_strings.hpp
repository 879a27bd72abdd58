// Maps of strings, as scenarios see them: of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// A map from strings to strings, whose lengths go with the numbers: some fit into their entry, one
/// replaces another one of another length, and a string says itself whether it is whole.
template <class Map>
class of_strings : public Map {
 public:
  using key_type = std::uint64_t;
  using mapped_type = std::uint64_t;
  using Map::Map;

  bool insert(std::uint64_t key, std::uint64_t value) {
    return Map::insert(text_of(key), text_of(value));
  }
  bool erase(std::uint64_t key) { return Map::erase(text_of(key)); }
  bool put(std::uint64_t key, std::uint64_t value) {
    return Map::put(text_of(key), text_of(value));
  }
  bool update(std::uint64_t key, std::uint64_t value) {
    return Map::update(text_of(key), text_of(value));
  }
  [[nodiscard]] bool contains(std::uint64_t key) { return Map::contains(text_of(key)); }
  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) {
    const auto found = Map::get(text_of(key));
    if (!found) return std::nullopt;
    return number_of(*found);
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    Map::for_each([&](std::string_view key, std::string_view value) {
      visit(number_of(key), number_of(value));
    });
  }

 private:
  static constexpr std::uint64_t lengths = 4;
  static constexpr std::size_t words_more = 3;

  /// The number in 8 bytes, and 0, 3, 6 or 9 times what follows from it.
  static std::string text_of(std::uint64_t number) {
    std::string text;
    for (std::size_t i = 0; i <= number % lengths * words_more; ++i) {
      const std::uint64_t word = number * (i + 1);
      text.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return text;
  }
  /// Of a torn one, what was never a number.
  static std::uint64_t number_of(std::string_view text) {
    std::uint64_t number = 0;
    std::memcpy(&number, text.data(), text.size() < sizeof number ? 0 : sizeof number);
    return text == text_of(number) ? number : ~std::uint64_t{0};
  }
};

}  // namespace outlast::verify::detail
