// Hash maps in volatile memory, as the limit of what keeps nothing: the standard library's behind
// one mutex, and TBB's. They have no order, so nothing can walk through them.
#include <bench/db_bench/map_session.hpp>
#include <bench/db_bench/store.hpp>

#include <mutex>
#include <unordered_map>

#if OUTLAST_BENCH_TBB
#include <tbb/concurrent_hash_map.h>
#include <tbb/version.h>
#endif

namespace outlast::bench {
namespace {

class locked_map {
 public:
  void put(std::string_view key, std::string_view value) {
    const std::lock_guard<std::mutex> alone(mutex_);
    map_.insert_or_assign(std::string(key), value);
  }
  void erase(std::string_view key) {
    const std::lock_guard<std::mutex> alone(mutex_);
    map_.erase(std::string(key));
  }
  bool get(std::string_view key, std::string& value) {
    const std::lock_guard<std::mutex> alone(mutex_);
    const auto found = map_.find(std::string(key));
    if (found == map_.end()) return false;
    value = found->second;
    return true;
  }
  [[nodiscard]] std::size_t size() const { return map_.size(); }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> map_;
};

#if OUTLAST_BENCH_TBB
class tbb_map {
 public:
  void put(std::string_view key, std::string_view value) {
    map::accessor at;
    map_.insert(at, std::string(key));
    at->second = value;
  }
  void erase(std::string_view key) { map_.erase(std::string(key)); }
  bool get(std::string_view key, std::string& value) {
    map::const_accessor at;
    if (!map_.find(at, std::string(key))) return false;
    value = at->second;
    return true;
  }
  [[nodiscard]] std::size_t size() const { return map_.size(); }

 private:
  using map = tbb::concurrent_hash_map<std::string, std::string>;
  map map_;
};
#endif

template <class Map>
class map_store final : public store {
 public:
  void sync_each_write(bool) override {}
  std::unique_ptr<session> connect() override { return std::make_unique<map_session<Map>>(map_); }
  void compact() override {}
  std::string describe() override { return std::to_string(map_.size()) + " entries, in no file"; }

 private:
  Map map_;
};

template <class Map>
std::unique_ptr<store> open(const store_settings&) {
  return std::make_unique<map_store<Map>>();
}

void destroy(const store_settings&) {}

}  // namespace

engine unordered_map_engine() {
  return {"unordered_map", "std::unordered_map, one mutex", open<locked_map>, destroy, false};
}

#if OUTLAST_BENCH_TBB
engine tbb_engine() {
  return {"tbb", "tbb::concurrent_hash_map " TBB_VERSION_STRING, open<tbb_map>, destroy, false};
}
#endif

}  // namespace outlast::bench
