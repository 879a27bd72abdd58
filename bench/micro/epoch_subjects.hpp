// Maps and queues that are compared with buffered ones, behind one interface: one virtual call for
// a batch of operations.
#pragma once

#include <bench/adapters/temporary_pool.hpp>
#include <bench/micro/interleaved.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/sets/basic_hash.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace outlast::bench {

/// Operations between two looks at the time.
inline constexpr std::uint64_t batch_operations = 128;

/// Nobody moves the clock.
[[nodiscard]] inline epoch::clock_options clock_at_rest() {
  epoch::clock_options made;
  made.epoch_length = std::chrono::microseconds(0);
  return made;
}

/// Lookups, insertions and removals in this ratio, drawn at random. Queues push and pop in turn.
struct operation_mix {
  unsigned gets = 0;
  unsigned inserts = 1;
  unsigned removes = 1;

  [[nodiscard]] std::string name() const {
    return std::to_string(gets) + ":" + std::to_string(inserts) + ":" + std::to_string(removes);
  }
};

/// What is measured, a map or a queue. Its clock, if it has one, is at rest at first.
class epoch_subject {
 public:
  epoch_subject() = default;
  epoch_subject(const epoch_subject&) = delete;
  epoch_subject& operator=(const epoch_subject&) = delete;
  virtual ~epoch_subject() = default;

  /// Operations of one thread. Returns how many they were.
  virtual std::uint64_t run(hand& self, const operation_mix& mix,
                            std::uint64_t operations = batch_operations) = 0;
  /// How the pool's clock runs from now on; nothing where there is none.
  virtual void run_clock(const epoch::clock_options& options) = 0;
  /// One epoch passes.
  virtual void tick() = 0;
  virtual void sync() = 0;
  /// Which epoch it is; 0 where there are none.
  [[nodiscard]] virtual std::uint64_t now() = 0;
  /// Where the pool lies; null where there is none.
  [[nodiscard]] virtual std::byte* memory() = 0;
  /// Compares what is there with what the operations reported. Throws std::runtime_error.
  virtual void check() = 0;
};

/// A structure in a pool that lives as long as it does.
template <class Structure>
class in_pool {
  using D = typename Structure::policy_type::domain_type;

 public:
  template <class... Options>
  in_pool(const std::filesystem::path& directory, const pool_options& sizes,
          const Options&... options)
      : pool_(directory, sizes), structure_(pool_.get(), "measured", options...) {}

  [[nodiscard]] Structure& structure() noexcept { return structure_; }
  [[nodiscard]] std::byte* memory() noexcept {
    return reinterpret_cast<std::byte*>(pool_.get().base());
  }

 private:
  temporary_pool<D> pool_;
  Structure structure_;
};

/// A structure in ordinary memory; behind the same constructor.
template <class Structure>
class in_memory {
 public:
  template <class... Options>
  in_memory(const std::filesystem::path&, const pool_options&, const Options&... options)
      : structure_(options...) {}

  [[nodiscard]] Structure& structure() noexcept { return structure_; }
  [[nodiscard]] std::byte* memory() noexcept { return nullptr; }

 private:
  Structure structure_;
};

/// The clock of a subject runs while it lives.
class clock_running {
 public:
  clock_running(epoch_subject& of, const epoch::clock_options& options) : of_(of) {
    of_.run_clock(options);
  }
  ~clock_running() { of_.run_clock(clock_at_rest()); }
  clock_running(const clock_running&) = delete;
  clock_running& operator=(const clock_running&) = delete;

 private:
  epoch_subject& of_;
};

/// What maps and queues have in common.
template <class Home>
class subject_at : public epoch_subject {
 public:
  void run_clock(const epoch::clock_options& options) override {
    if constexpr (has_clock) structure().pool_clock().configure(options);
  }
  void tick() override {
    if constexpr (has_clock) structure().pool_clock().tick();
  }
  void sync() override {
    if constexpr (has_clock) structure().sync();
  }
  [[nodiscard]] std::uint64_t now() override {
    if constexpr (has_clock) {
      return structure().pool_clock().now();
    } else {
      return 0;
    }
  }
  [[nodiscard]] std::byte* memory() override { return home_.memory(); }
  void check() override {
    const auto expected = static_cast<std::uint64_t>(held_.load());
    const std::uint64_t found = count();
    if (found == expected) return;
    throw std::runtime_error("a structure holds " + std::to_string(found) + " values, not " +
                             std::to_string(expected));
  }

 protected:
  template <class... Arguments>
  explicit subject_at(Arguments&&... arguments) : home_(std::forward<Arguments>(arguments)...) {
    run_clock(clock_at_rest());
  }

  [[nodiscard]] auto& structure() noexcept { return home_.structure(); }
  [[nodiscard]] virtual std::uint64_t count() = 0;

  /// `added` and `taken` are what a hand had before it ran.
  void finish(const hand& self, std::uint64_t added, std::uint64_t taken) {
    const std::uint64_t more = (self.added - added) - (self.taken - taken);  // modulo 2^64
    held_.fetch_add(static_cast<std::int64_t>(more), std::memory_order_relaxed);
  }
  void starts_with(std::uint64_t held) { held_.store(static_cast<std::int64_t>(held)); }

 private:
  using structure_type = std::remove_reference_t<decltype(std::declval<Home&>().structure())>;
  static constexpr bool has_clock = requires(structure_type& one) { one.pool_clock(); };

  Home home_;
  std::atomic<std::int64_t> held_{0};
};

/// A map of keys from 1 to `range`, half of which are there at first.
struct map_setup {
  std::filesystem::path directory;
  std::uint64_t range = 0;
  std::size_t value_bytes = 0;
  std::size_t log_bytes = pool_options().log_bytes;
  std::size_t more_bytes = std::size_t{64} << 20;

  /// Twice what the blocks take, and more, for those that wait to be freed.
  [[nodiscard]] pool_options sizes() const {
    return {.size_bytes = more_bytes + range * (2 * value_bytes + 512), .log_bytes = log_bytes};
  }
};

/// A map of strings to strings.
template <class Home>
class map_subject final : public subject_at<Home> {
 public:
  template <class... Options>
  explicit map_subject(const map_setup& setup, const Options&... options)
      : subject_at<Home>(setup.directory, setup.sizes(), options...), range_(setup.range) {
    hand filler(0, setup.value_bytes);
    while (filler.added < range_ / 2) insert(filler);
    this->starts_with(filler.added);
  }

  std::uint64_t run(hand& self, const operation_mix& mix, std::uint64_t operations) override {
    const std::uint64_t added = self.added;
    const std::uint64_t taken = self.taken;
    for (std::uint64_t i = 0; i < operations; ++i) {
      const std::uint64_t drawn = self.random.below(mix.gets + mix.inserts + mix.removes);
      if (drawn < mix.gets) {
        get(self);
      } else if (drawn < mix.gets + mix.inserts) {
        insert(self);
      } else {
        remove(self);
      }
    }
    this->finish(self, added, taken);
    return operations;
  }

 private:
  const std::string& draw(hand& self) const { return self.key_of(self.random.below(range_) + 1); }
  void get(hand& self) {
    if (const auto found = this->structure().get(draw(self))) self.seen += found->size();
  }
  void insert(hand& self) {
    self.added += this->structure().insert(draw(self), self.value) ? 1 : 0;
  }
  void remove(hand& self) { self.taken += this->structure().erase(draw(self)) ? 1 : 0; }

  [[nodiscard]] std::uint64_t count() override {
    std::uint64_t keys = 0;
    this->structure().for_each([&](const auto&, const auto&) { ++keys; });
    return keys;
  }

  std::uint64_t range_;
};

/// The map to compare with that has no pool: a table of the standard library per shard.
class sharded_map {
 public:
  explicit sharded_map(std::uint64_t buckets) {
    for (shard& each : shards_) each.map.reserve(buckets / shards_.size());
  }

  bool insert(const std::string& key, const std::string& value) {
    shard& in = shard_of(key);
    const std::lock_guard lock(in.mutex);
    return in.map.try_emplace(key, value).second;
  }
  void set(const std::string& key, const std::string& value) {
    shard& in = shard_of(key);
    const std::lock_guard lock(in.mutex);
    in.map.insert_or_assign(key, value);
  }
  bool erase(const std::string& key) {
    shard& in = shard_of(key);
    const std::lock_guard lock(in.mutex);
    return in.map.erase(key) != 0;
  }
  std::optional<std::string> get(const std::string& key) {
    shard& in = shard_of(key);
    const std::lock_guard lock(in.mutex);
    const auto found = in.map.find(key);
    if (found == in.map.end()) return std::nullopt;
    return found->second;
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (shard& each : shards_) {
      for (const auto& [key, value] : each.map) visit(key, value);
    }
  }

 private:
  struct alignas(128) shard {
    std::mutex mutex;
    std::unordered_map<std::string, std::string> map;
  };

  /// By the last 8 digits: cheaper than to hash twice.
  shard& shard_of(const std::string& key) {
    std::uint64_t digits = 0;
    std::memcpy(&digits, key.data() + key.size() - sizeof digits, sizeof digits);
    return shards_[digits * 0x9e3779b97f4a7c15 >> 54];
  }

  std::array<shard, 1024> shards_;
};

template <class Policy>
[[nodiscard]] std::unique_ptr<epoch_subject> make_epoch_map(const map_setup& setup) {
  using map = epoch::basic_hash_map<Policy, std::string, std::string>;
  epoch::map_options options;
  options.buckets = setup.range;
  return std::make_unique<map_subject<in_pool<map>>>(setup, options);
}

template <class Map>
[[nodiscard]] std::unique_ptr<epoch_subject> make_lock_free_map(const map_setup& setup) {
  sets::table_options options;
  options.buckets = setup.range;
  options.grows = false;
  return std::make_unique<map_subject<in_pool<Map>>>(setup, options);
}
template <class Scheme>
[[nodiscard]] std::unique_ptr<epoch_subject> make_set_map(const map_setup& setup) {
  return make_lock_free_map<sets::basic_hash<Scheme, std::string, std::string>>(setup);
}

[[nodiscard]] inline std::unique_ptr<epoch_subject> make_volatile_map(const map_setup& setup) {
  return std::make_unique<map_subject<in_memory<sharded_map>>>(setup, setup.range);
}

/// What queues hold.
template <std::size_t Bytes>
using queue_value = std::array<std::byte, Bytes>;

/// Each thread pushes and pops in turn; a thousand values are there at first.
template <class Home, std::size_t Bytes>
class queue_subject final : public subject_at<Home> {
  static constexpr std::uint64_t held_at_first = 1000;

 public:
  explicit queue_subject(const std::filesystem::path& directory)
      : subject_at<Home>(directory,
                         pool_options{.size_bytes = (std::size_t{256} << 20) + 100'000 * Bytes}) {
    for (std::uint64_t i = 0; i < held_at_first; ++i) this->structure().push({});
    this->starts_with(held_at_first);
  }

  std::uint64_t run(hand& self, const operation_mix&, std::uint64_t operations) override {
    const std::uint64_t added = self.added;
    const std::uint64_t taken = self.taken;
    for (std::uint64_t i = 0; i < operations / 2; ++i) {
      push(self);
      pop(self);
    }
    this->finish(self, added, taken);
    return operations;
  }

 private:
  void push(hand& self) {
    queue_value<Bytes> value;
    value.fill(static_cast<std::byte>(++self.added));
    this->structure().push(value);
  }
  void pop(hand& self) {
    const std::optional<queue_value<Bytes>> first = this->structure().pop();
    if (!first) return;
    ++self.taken;
    self.seen += static_cast<std::uint64_t>(first->back());
  }

  [[nodiscard]] std::uint64_t count() override {
    std::uint64_t values = 0;
    this->structure().for_each([&](const auto&) { ++values; });
    return values;
  }
};

/// The queue to compare with that has no pool.
template <class Value>
class locked_deque {
 public:
  void push(const Value& value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(value);
  }
  std::optional<Value> pop() {
    const std::lock_guard lock(mutex_);
    if (values_.empty()) return std::nullopt;
    const std::optional<Value> first(values_.front());
    values_.pop_front();
    return first;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Value& each : values_) visit(each);
  }

 private:
  std::mutex mutex_;
  std::deque<Value> values_;
};

template <class Policy, std::size_t Bytes, epoch::queue_locks Locks = epoch::queue_locks::each_end>
[[nodiscard]] std::unique_ptr<epoch_subject> make_epoch_queue(
    const std::filesystem::path& directory) {
  using queue = epoch::basic_queue<Policy, queue_value<Bytes>, Locks>;
  return std::make_unique<queue_subject<in_pool<queue>, Bytes>>(directory);
}

template <template <class> class Queue, std::size_t Bytes>
[[nodiscard]] std::unique_ptr<epoch_subject> make_queue(const std::filesystem::path& directory) {
  return std::make_unique<queue_subject<in_pool<Queue<queue_value<Bytes>>>, Bytes>>(directory);
}

template <std::size_t Bytes>
[[nodiscard]] std::unique_ptr<epoch_subject> make_volatile_queue(
    const std::filesystem::path& directory) {
  using queue = locked_deque<queue_value<Bytes>>;
  return std::make_unique<queue_subject<in_memory<queue>, Bytes>>(directory);
}

}  // namespace outlast::bench
