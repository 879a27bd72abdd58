// What a thread does with a map that has neither order nor batches.
#pragma once

#include <bench/db_bench/store.hpp>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outlast::bench {

/// `Map`: put(key, value), erase(key) and get(key, into), by any thread.
template <class Map>
class map_session final : public session {
 public:
  explicit map_session(Map& map) : map_(map) {}

  void put(std::string_view key, std::string_view value) override { map_.put(key, value); }
  /// One by one: there is nothing that makes several of them one.
  void put_all(std::span<const key_and_value> entries) override {
    for (const key_and_value& one : entries) map_.put(one.key, one.value);
  }
  void erase(std::string_view key) override { map_.erase(key); }
  bool get(std::string_view key, std::string& value) override { return map_.get(key, value); }
  std::unique_ptr<place> iterate() override {
    throw std::runtime_error("a hash table has no order to walk in");
  }

 private:
  Map& map_;
};

}  // namespace outlast::bench
