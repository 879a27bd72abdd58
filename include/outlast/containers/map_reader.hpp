// A managed_map of a pool that another process uses, read from this one.
//
//   outlast::pool_reader reader("/var/lib/app/state.pool");
//   using map = outlast::containers::managed_map<outlast::tx::redo_opt<>,
//                                                outlast::containers::hash_map<long, long>>;
//   outlast::containers::map_reader<map> words(reader, "words");
//   std::optional<long> found = words.get(7);
//
// tx/reader.hpp describes the protocol, the engines that can be read, and when not to use it.
#pragma once

#include <outlast/containers/detail/stored.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/reader.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace outlast::containers {

/// Reads a `managed_map` that another process updates.
///
/// Thread-safety, progress, durability, errors: those of tx::reader.
template <class ManagedMap>
class map_reader;

template <class Manager, class Map>
class map_reader<managed_map<Manager, Map>> {
  template <class T>
  using view_of = detail::view_of<T>;

 public:
  using key_type = typename Map::key_type;
  using mapped_type = typename Map::mapped_type;
  using manager_reader = tx::reader<Manager>;
  using pool_reader = typename manager_reader::pool_reader;

  /// Finds the map `name`. Requires: `in` outlives this object. Throws what the constructor and
  /// root() of tx::reader throw.
  map_reader(pool_reader& in, std::string_view name)
      : manager_(in, name), map_(manager_.template root<Map>("map")) {}

  [[nodiscard]] bool contains(view_of<key_type> key) {
    return manager_.read(map_, [&](const Map& m) { return m.contains(key); });
  }
  [[nodiscard]] std::optional<mapped_type> get(view_of<key_type> key) {
    std::optional<mapped_type> found;
    manager_.read(map_, [&](const Map& m) {
      if (const auto there = m.get(key)) found.emplace(*there);
    });
    return found;
  }
  [[nodiscard]] std::size_t size() {
    return manager_.read(map_, [](const Map& m) { return m.size(); });
  }
  /// Calls `visit(key, value)` for each key, as of one moment. Views are valid during the call.
  template <class Visit>
  void for_each(Visit&& visit) {
    manager_.read(map_, [&](const Map& m) { m.for_each(visit); });
  }

  [[nodiscard]] manager_reader& manager() noexcept { return manager_; }
  [[nodiscard]] tx::root<Map> named() const noexcept { return map_; }

 private:
  manager_reader manager_;
  tx::root<Map> map_;
};

}  // namespace outlast::containers
