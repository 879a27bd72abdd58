// The entries of a tree that an iterator has copied.
#pragma once

#include <outlast/containers/detail/stored.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::containers::detail {

/// Entries of a tree in ordinary memory.
template <class Key, class Value>
class copied_entries {
 public:
  void clear() noexcept {
    all_.clear();
    bytes_ = 0;
  }
  void add(view_of<Key> key, view_of<Value> value) {
    all_.emplace_back(key, value);
    bytes_ += bytes_of(all_.back().first) + bytes_of(all_.back().second);
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] view_of<Key> key(std::size_t i) const { return all_.at(i).first; }
  [[nodiscard]] view_of<Value> value(std::size_t i) const { return all_.at(i).second; }

 private:
  template <class T>
  [[nodiscard]] static std::size_t bytes_of(const T& held) noexcept {
    if constexpr (requires { held.size(); }) return held.size();
    return sizeof(T);
  }

  std::vector<std::pair<Key, Value>> all_;
  std::size_t bytes_ = 0;
};
/// Entries of byte strings, one after the other, so that none needs memory of its own.
template <>
class copied_entries<std::string, std::string> {
 public:
  void clear() noexcept {
    bytes_.clear();
    places_.clear();
  }
  void add(std::string_view key, std::string_view value) {
    places_.push_back({bytes_.size(), key.size(), value.size()});
    bytes_.append(key);
    bytes_.append(value);
  }
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::string_view key(std::size_t i) const noexcept {
    return {bytes_.data() + places_[i].begin, places_[i].key_bytes};
  }
  [[nodiscard]] std::string_view value(std::size_t i) const noexcept {
    return {bytes_.data() + places_[i].begin + places_[i].key_bytes, places_[i].value_bytes};
  }

 private:
  struct place {
    std::size_t begin;
    std::size_t key_bytes;
    std::size_t value_bytes;
  };

  std::string bytes_;
  std::vector<place> places_;
};

}  // namespace outlast::containers::detail
