// A map of the standard library under cx_puc, with the interface of this library's maps.
#pragma once

#include <outlast/tx/baselines/cx_puc.hpp>
#include <outlast/tx/options.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace outlast::containers {

/// Containers of the standard library with memory in the replica.
template <class Key, class T>
using replica_map =
    std::map<Key, T, std::less<Key>, tx::replica_allocator<std::pair<const Key, T>>>;
template <class Key, class T>
using replica_unordered_map = std::unordered_map<Key, T, std::hash<Key>, std::equal_to<Key>,
                                                 tx::replica_allocator<std::pair<const Key, T>>>;

/// `Map` is one of these, or has their interface. Each member function is an operation; object()
/// runs several as one.
///
/// Thread-safety, progress and durability: tx::cx_puc's.
template <class Map, domain::persistence_domain D = domain::native>
class puc_map {
 public:
  using pool_type = basic_pool<D>;
  using key_type = typename Map::key_type;
  using mapped_type = typename Map::mapped_type;
  /// The engine, and the domain under it, for reports.
  struct policy_type {
    using domain_type = D;
    [[nodiscard]] static std::string name() {
      return std::string(tx::cx_puc<Map, D>::engine_name());
    }
  };

  /// Attaches the map `name`, and creates it if there is none. Throws the exceptions of
  /// tx::cx_puc's constructor.
  puc_map(pool_type& pool, std::string_view name, const tx::options& wanted = {})
      : object_(std::make_unique<tx::cx_puc<Map, D>>(pool, name, wanted)) {}

  /// Adds an entry. Returns false, without a change, if the key exists. Durable at return, as are
  /// put(), update() and erase(). Throws out_of_space without effect, as put() does.
  bool insert(const key_type& key, const mapped_type& value) {
    return object_->update([=](Map& m) { return m.emplace(key, value).second; });
  }
  bool put(const key_type& key, const mapped_type& value) {
    return object_->update([=](Map& m) { return m.insert_or_assign(key, value).second; });
  }
  bool update(const key_type& key, const mapped_type& value) {
    return object_->update([=](Map& m) {
      const auto found = m.find(key);
      if (found == m.end()) return false;
      found->second = value;
      return true;
    });
  }
  bool erase(const key_type& key) {
    return object_->update([=](Map& m) { return m.erase(key) != 0; });
  }
  [[nodiscard]] bool contains(const key_type& key) {
    return object_->read([&](const Map& m) { return m.count(key) != 0; });
  }
  [[nodiscard]] std::optional<mapped_type> get(const key_type& key) {
    return object_->read([&](const Map& m) -> std::optional<mapped_type> {
      const auto found = m.find(key);
      if (found == m.end()) return std::nullopt;
      return found->second;
    });
  }
  [[nodiscard]] std::size_t size() {
    return object_->read([](const Map& m) { return m.size(); });
  }
  /// Calls `visit(key, value)` for each key, as of one point in time.
  template <class Visit>
  void for_each(Visit&& visit) {
    object_->read([&](const Map& m) {
      for (const auto& [key, value] : m) visit(key, value);
    });
  }

  [[nodiscard]] tx::cx_puc<Map, D>& object() noexcept { return *object_; }

 private:
  std::unique_ptr<tx::cx_puc<Map, D>> object_;
};

}  // namespace outlast::containers
