// The operations of maps of numbers, whatever their keys and values are made of.
#pragma once

#include "tests/oom/operation_table.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

namespace outlast::test {

using numbers = std::map<std::uint64_t, std::uint64_t>;

/// A key or value that stands for a number. A string is long enough to need memory.
template <class T>
[[nodiscard]] T from_number(std::uint64_t n) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::to_string(1'000'000 + n) + std::string(30, '-');
  } else {
    return T(n);
  }
}
template <class T>
[[nodiscard]] std::uint64_t to_number(const T& from) {
  if constexpr (std::is_convertible_v<T, std::string_view>) {
    return std::stoull(std::string(std::string_view(from).substr(0, 7))) - 1'000'000;
  } else {
    std::uint64_t n = 0;
    std::memcpy(&n, &from, sizeof n);
    return n;
  }
}

inline std::string yes(bool it_is) { return it_is ? "yes" : "no"; }

/// `present` is there with the value `present`; so are some neighbours; `absent` is not.
inline constexpr std::uint64_t present = 20;
inline constexpr std::uint64_t absent = 21;

/// A family of maps. Each key and value is made before calls fail.
template <class Map>
[[nodiscard]] tested_family<Map, numbers> family_of_maps(
    const std::string& name, std::function<std::unique_ptr<Map>(typename Map::pool_type&)> attach) {
  using key = typename Map::key_type;
  using value = typename Map::mapped_type;
  tested_family<Map, numbers> made;
  made.name = name;
  made.attach = std::move(attach);
  made.fill = [](Map& in) {
    for (std::uint64_t n = 0; n < 24; ++n) {
      (void)in.insert(from_number<key>(n * 4), from_number<value>(n * 4));
    }
    for (std::uint64_t n = 0; n < 24; n += 5) (void)in.erase(from_number<key>(n * 4 + 4));
    (void)in.put(from_number<key>(present), from_number<value>(present));
  };
  made.content = [](Map& of) {
    numbers found;
    of.for_each([&](const auto& k, const auto& v) { found.emplace(to_number(k), to_number(v)); });
    return found;
  };
  const auto there = from_number<key>(present);
  const auto elsewhere = from_number<key>(absent);
  const auto other = from_number<value>(77);
  auto& rows = made.operations;
  rows.push_back({"insert", [=](Map& m) { return yes(m.insert(elsewhere, other)); },
                  [](numbers& m) { return yes(m.emplace(absent, 77).second); }});
  rows.push_back({"insert, present", [=](Map& m) { return yes(m.insert(there, other)); },
                  [](numbers& m) { return yes(m.emplace(present, 77).second); }});
  rows.push_back({"erase", [=](Map& m) { return yes(m.erase(there)); },
                  [](numbers& m) { return yes(m.erase(present) != 0); }});
  rows.push_back({"erase, absent", [=](Map& m) { return yes(m.erase(elsewhere)); },
                  [](numbers& m) { return yes(m.erase(absent) != 0); }});
  rows.push_back({"update", [=](Map& m) { return yes(m.update(there, other)); },
                  [](numbers& m) {
                    m[present] = 77;
                    return yes(true);
                  }});
  rows.push_back({"update, absent", [=](Map& m) { return yes(m.update(elsewhere, other)); },
                  [](numbers&) { return yes(false); }});
  rows.push_back({"put", [=](Map& m) { return yes(m.put(elsewhere, other)); },
                  [](numbers& m) { return yes(m.insert_or_assign(absent, 77).second); }});
  rows.push_back({"put, present", [=](Map& m) { return yes(m.put(there, other)); },
                  [](numbers& m) { return yes(m.insert_or_assign(present, 77).second); }});
  rows.push_back({"get", [=](Map& m) { return yes(m.get(there).has_value()); },
                  [](numbers&) { return yes(true); }});
  rows.push_back({"contains, absent", [=](Map& m) { return yes(m.contains(elsewhere)); },
                  [](numbers&) { return yes(false); }});
  rows.push_back({"for_each",
                  [](Map& m) {
                    std::size_t count = 0;
                    m.for_each([&](const auto&, const auto&) { ++count; });
                    return std::to_string(count);
                  },
                  [](numbers& m) { return std::to_string(m.size()); }});
  if constexpr (requires(Map& m) { m.compare_and_put(there, other, other); }) {
    const auto old = from_number<value>(present);
    rows.push_back({"compare_and_put",
                    [=](Map& m) { return yes(m.compare_and_put(there, old, other)); },
                    [](numbers& m) {
                      m[present] = 77;
                      return yes(true);
                    }});
  }
  if constexpr (requires(Map& m) { m.min(); }) {
    rows.push_back({"min", [](Map& m) { return yes(m.min().has_value()); },
                    [](numbers&) { return yes(true); }});
    rows.push_back({"max", [](Map& m) { return yes(m.max().has_value()); },
                    [](numbers&) { return yes(true); }});
  }
  // Enough retirements for a collection, and for all sizes that bags grow to.
  rows.push_back({"many of them",
                  [=](Map& m) {
                    for (unsigned i = 0; i < 70; ++i) {
                      try_to([&] { (void)m.insert(elsewhere, other); });
                      try_to([&] { (void)m.update(there, other); });
                      try_to([&] { (void)m.erase(elsewhere); });
                    }
                    without_failures([&] {
                      (void)m.update(there, other);
                      (void)m.erase(elsewhere);
                    });
                    return yes(true);
                  },
                  [](numbers& m) {
                    m[present] = 77;
                    return yes(true);
                  }});
  return made;
}

}  // namespace outlast::test
