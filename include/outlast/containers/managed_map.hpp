// A sequential map with a manager of its own, and the interface of the library's maps.
#pragma once

#include <outlast/containers/detail/stored.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::containers {

/// `Map` is one of these containers, `Manager` an engine. Each member function is a transaction;
/// manager() and named() allow several in one. Strings are passed as std::string_view, and copied,
/// because an engine may run an update after its caller has returned. get() returns a copy. Reads
/// run on the caller's thread.
///
/// Thread-safety, progress and durability: the manager's.
template <class Manager, class Map>
class managed_map {
  template <class T>
  using view_of = detail::view_of<T>;

 public:
  using pool_type = typename Manager::pool_type;
  using key_type = typename Map::key_type;
  using mapped_type = typename Map::mapped_type;
  /// The engine, and the domain under it, for reports.
  struct policy_type {
    using domain_type = typename Manager::domain_type;
    [[nodiscard]] static std::string name() { return std::string(Manager::engine_name()); }
  };

  /// Attaches the manager `name`, and creates it if there is none. Throws the exceptions of
  /// Manager's constructor and of root().
  managed_map(pool_type& pool, std::string_view name, const tx::options& wanted = {})
      : manager_(std::make_unique<Manager>(pool, name, wanted)),
        map_(manager_->template root<Map>("map")) {}

  /// Adds an entry. Returns false, without a change, if the key exists. Durable at return, as are
  /// put(), update() and erase(). Throws out_of_space without effect, as all of these do.
  bool insert(view_of<key_type> key, view_of<mapped_type> value) {
    return manager_->update(map_, [key = key_type(key), value = mapped_type(value)](Map& m) {
      return m.insert(key, value);
    });
  }
  bool put(view_of<key_type> key, view_of<mapped_type> value) {
    return manager_->update(map_, [key = key_type(key), value = mapped_type(value)](Map& m) {
      return m.put(key, value);
    });
  }
  bool update(view_of<key_type> key, view_of<mapped_type> value) {
    return manager_->update(map_, [key = key_type(key), value = mapped_type(value)](Map& m) {
      return m.update(key, value);
    });
  }
  bool erase(view_of<key_type> key) {
    return manager_->update(map_, [key = key_type(key)](Map& m) { return m.erase(key); });
  }
  [[nodiscard]] bool contains(view_of<key_type> key) {
    return manager_->read(map_, [&](const Map& m) { return m.contains(key); });
  }
  [[nodiscard]] std::optional<mapped_type> get(view_of<key_type> key) {
    std::optional<mapped_type> found;
    manager_->read(map_, [&](const Map& m) {
      if (const auto there = m.get(key)) found.emplace(*there);
    });
    return found;
  }
  [[nodiscard]] std::size_t size() {
    return manager_->read(map_, [](const Map& m) { return m.size(); });
  }
  /// Calls `visit(key, value)` for each key, as of one point in time. Views are valid during the
  /// call.
  template <class Visit>
  void for_each(Visit&& visit) {
    manager_->read(map_, [&](const Map& m) { m.for_each(visit); });
  }

  /// Returns the first violated invariant of the map; "" if there is none. Visits all entries.
  [[nodiscard]] std::string check()
    requires requires(const Map& m) { m.check(); }
  {
    std::string wrong;
    manager_->read(map_, [&](const Map& m) { wrong = m.check(); });
    return wrong;
  }

  /// Returns the number of blocks of the manager's heap that are not blocks of the map. Visits all.
  /// If the map is the only object there are two: the object itself, and its name.
  [[nodiscard]] std::size_t blocks_besides()
    requires requires(const Map& m) { m.blocks(); }
  {
    return manager_->read(
        map_, [](const Map& m) { return tx::heap(tx::running()).blocks_in_use() - m.blocks(); });
  }

  [[nodiscard]] Manager& manager() noexcept { return *manager_; }
  [[nodiscard]] tx::root<Map> named() const noexcept { return map_; }

 private:
  std::unique_ptr<Manager> manager_;
  tx::root<Map> map_;
};

}  // namespace outlast::containers
