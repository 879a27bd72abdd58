// The read set of a store's transaction, which must be unchanged when the transaction commits.
#pragma once

#include <outlast/db/detail/changes.hpp>
#include <outlast/db/detail/key_order.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::store_detail {

/// Keys with their values, absent keys, and ranges with all their entries. Owns its bytes.
/// Volatile.
/// Thread-safety: const members may be called concurrently.
class read_set {
 public:
  /// All keys from `from` to an end, with their values.
  struct range {
    std::string from;
    std::optional<std::string> to;  ///< without a value, the range has no end
    bool with_to = false;           ///< true if the range includes `to`
    std::vector<std::pair<std::string, std::string>> held;
  };

  /// Adds a key with its value. Without a value, the key must be absent.
  void expect(std::string_view key, std::optional<std::string> value) {
    points_.emplace_back(key, std::move(value));
  }
  void expect(range all) { ranges_.push_back(std::move(all)); }
  [[nodiscard]] bool empty() const noexcept { return points_.empty() && ranges_.empty(); }

  [[nodiscard]] bool has_ranges() const noexcept { return !ranges_.empty(); }
  /// Calls `visit(key)` for each recorded key outside of ranges.
  template <class Visit>
  void for_each_key(Visit&& visit) const {
    for (const point& each : points_) visit(std::string_view(each.first));
  }

  /// Returns true if `content` contains the same values. Reads the recorded keys and ranges, and
  /// one key after each range. `content` has find_value(key), which returns an optional value, and
  /// ascend_from(key, visit), which calls visit(key, value) until it returns false.
  template <class Content>
  [[nodiscard]] bool hold_in(const Content& content, const key_order& order) const {
    return std::all_of(points_.begin(), points_.end(),
                       [&](const point& each) { return holds(each, content); }) &&
           std::all_of(ranges_.begin(), ranges_.end(),
                       [&](const range& each) { return holds(each, content, order); });
  }

 private:
  using point = std::pair<std::string, std::optional<std::string>>;

  template <class Content>
  static bool holds(const point& expected, const Content& content) {
    const auto there = content.find_value(expected.first);
    if (!there) return !expected.second;
    return expected.second && *there == *expected.second;
  }
  template <class Content>
  static bool holds(const range& expected, const Content& content, const key_order& order) {
    std::size_t at = 0;
    bool same = true;
    content.ascend_from(expected.from, [&](std::string_view key, std::string_view value) {
      if (is_behind(expected, key, order)) return false;
      same = at < expected.held.size() && expected.held[at].first == key &&
             expected.held[at].second == value;
      ++at;
      return same;
    });
    return same && at == expected.held.size();
  }
  static bool is_behind(const range& all, std::string_view key, const key_order& order) {
    if (!all.to) return false;
    return all.with_to ? order(*all.to, key) : !order(key, *all.to);
  }

  std::vector<point> points_;
  std::vector<range> ranges_;
};

}  // namespace outlast::store_detail
