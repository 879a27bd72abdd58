// Buffered structures. Epochs of a scenario last for an operation or two; buffers are as small as
// they may be, so that the rare paths are taken.
#include <tests/catalogue/catalogue_entries.hpp>
#include <tests/catalogue/items_as_map.hpp>

#include <outlast/epoch/baselines/one_lock_queue.hpp>
#include <outlast/epoch/bounded_cache.hpp>
#include <outlast/epoch/buffered_stack.hpp>
#include <outlast/epoch/graph.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_list.hpp>
#include <outlast/epoch/lockfree_queue.hpp>
#include <outlast/epoch/ordered_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <outlast/verify/explorer/buffered_subject.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace outlast::verify::detail {
namespace {

using domain::simulated;

using map = epoch::hash_map<std::uint64_t, std::uint64_t, simulated>;
using map_of_strings = epoch::hash_map<std::uint64_t, std::string, simulated>;
using queue = epoch::queue<std::uint64_t, simulated>;
using one_lock_queue = epoch::one_lock_queue<std::uint64_t, simulated>;
using stack = epoch::stack<std::uint64_t, simulated>;
using graph = epoch::graph<std::uint64_t, std::uint64_t, simulated>;

using lockfree_list =
    epoch::lockfree_list<std::uint64_t, std::uint64_t, simulated,
                         roots::default_order<std::uint64_t>, verify::eager_epochs>;
using lockfree_map =
    epoch::lockfree_hash_map<std::uint64_t, std::uint64_t, simulated,
                             base::default_hash<std::uint64_t>, verify::eager_epochs>;
using lockfree_map_of_strings =
    epoch::lockfree_hash_map<std::uint64_t, std::string, simulated,
                             base::default_hash<std::uint64_t>, verify::eager_epochs>;
using lockfree_queue = epoch::lockfree_queue<std::uint64_t, simulated, verify::eager_epochs>;
using ordered_map = epoch::ordered_map<std::uint64_t, std::uint64_t, simulated,
                                       roots::default_order<std::uint64_t>, verify::eager_epochs>;

/// Two maps of one pool, one clock: what either holds is cut off at the same epoch.
class two_maps {
 public:
  using pool_type = map::pool_type;
  using key_type = std::uint64_t;
  using mapped_type = std::uint64_t;
  using policy_type = map::policy_type;

  two_maps(pool_type& pool, const std::string& name)
      : even_(pool, name + " even", few), odd_(pool, name + " odd", few) {}

  bool insert(std::uint64_t key, std::uint64_t value) { return of(key).insert(key, value); }
  bool put(std::uint64_t key, std::uint64_t value) { return of(key).put(key, value); }
  bool update(std::uint64_t key, std::uint64_t value) { return of(key).update(key, value); }
  bool erase(std::uint64_t key) { return of(key).erase(key); }
  bool contains(std::uint64_t key) { return of(key).contains(key); }
  std::optional<std::uint64_t> get(std::uint64_t key) { return of(key).get(key); }
  template <class Visit>
  void for_each(Visit&& visit) {
    even_.for_each(visit);
    odd_.for_each(visit);
  }
  auto& pool_clock() noexcept { return even_.pool_clock(); }

 private:
  static constexpr epoch::map_options few = {.buckets = 1, .load = 4};

  map& of(std::uint64_t key) noexcept { return key % 2 == 0 ? even_ : odd_; }

  map even_;
  map odd_;
};

/// A map that is changed by modify() alone.
class modified_map final : public map {
 public:
  using map::map;
  using step = epoch::change<std::uint64_t>;

  bool insert(std::uint64_t key, std::uint64_t value) {
    return modify(key, [&](const auto* now) { return now ? step::nothing() : step::to(value); });
  }
  bool update(std::uint64_t key, std::uint64_t value) {
    return modify(key, [&](const auto* now) { return now ? step::to(value) : step::nothing(); });
  }
  bool put(std::uint64_t key, std::uint64_t value) {
    bool is_new = false;
    modify(key, [&](const auto* now) {
      is_new = now == nullptr;
      return step::to(value);
    });
    return is_new;
  }
  bool erase(std::uint64_t key) {
    return modify(key, [](const auto*) { return step::erase(); });
  }
};

/// A map whose root is not in the first chunk of the pool's directory, so that the clock adds words
/// for it.
class late_map_subject final : public structure_subject<map> {
  using pool_type = map::pool_type;

 public:
  late_map_subject(const std::string& name, const structure_parts<map>& how)
      : structure_subject<map>(name, how), among_the_first_(name, how) {}

  [[nodiscard]] const oracle& checker() const override { return among_the_first_.checker(); }
  void format(std::span<std::byte> memory) override { (void)open_filled(memory, true); }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    return std::make_unique<buffered_world<map_world<map>>>(open_filled(memory, fresh), how().make,
                                                            how().blocks);
  }

 private:
  /// Opens a pool of format 2 that has as many roots as its first chunk has entries.
  static std::unique_ptr<pool_type> open_filled(std::span<std::byte> memory, bool fresh) {
    auto pool = open_pool<pool_type>(memory, fresh, memory.size(), pool_format::version_2);
    void* const first = pool->pages().address_of(pool->pages().first_page());
    for (auto next = static_cast<std::uint32_t>(pool->roots().size()); next < pool->first_roots();
         ++next) {
      const attached_root root = pool->attach_root("root " + std::to_string(next), "none", 1, true);
      pool->publish_root(root.index, first);
      pool->detach_root(root.index, true);
    }
    return pool;
  }

  buffered_map_subject<map> among_the_first_;
};

/// A graph whose payloads can be visited one by one.
class walked_graph final : public graph {
 public:
  using graph::graph;

  template <class Visit>
  void for_each(Visit&& visit) {
    for_each_vertex([&](vertex_id, const std::uint64_t& attribute) { visit(attribute); });
    for_each_edge([&](vertex_id, vertex_id, const std::uint64_t& attribute) { visit(attribute); });
  }
};

/// A design point of the clock.
struct clock_point {
  std::size_t buffer = 2;
  epoch::write_back writes = epoch::write_back::buffered;
  epoch::reclamation reclaims = epoch::reclamation::tick;
  std::size_t stream_from_bytes = 64;

  template <class Structure>
  void set(Structure& at) const {
    at.pool_clock().configure({.epoch_length = {},
                               .buffer = buffer,
                               .writes = writes,
                               .reclaims = reclaims,
                               .stream_from_bytes = stream_from_bytes});
  }
};

template <class Structure, class... Options>
structure_parts<Structure> parts_of(const clock_point& point, const Options&... options) {
  structure_parts<Structure> how;
  how.make = [point, options...](auto& pool) {
    auto made = std::make_unique<Structure>(pool, "subject", options...);
    point.set(*made);
    return made;
  };
  how.blocks = [](Structure&) { return std::size_t{1}; };  // the root block
  return how;
}

/// Without a type: what structures pass are the sites of clock and operations, which all share.
template <class Subject, class Structure, class... Arguments>
void add(list& to, const std::string& name, scope within, const Arguments&... arguments) {
  to.push_back({name,
                Structure::policy_type::name(),
                [=] { return std::make_unique<Subject>(name, arguments...); },
                within,
                {},
                true});
}
/// The same of a structure that is non-blocking.
template <class Structure, class... Options>
void add_nonblocking(list& to, const std::string& name, const clock_point& point, scope within,
                     const Options&... options) {
  add<buffered_map_subject<Structure>, Structure>(to, name, within,
                                                  parts_of<Structure>(point, options...));
  to.back().blocks = false;
}

template <class Map>
void add_map_at(list& to, const std::string& name, const clock_point& point,
                const epoch::map_options& options = {.buckets = 2, .load = 4}, scope within = {}) {
  add<buffered_map_subject<Map>, Map>(to, name, within, parts_of<Map>(point, options));
}

/// For queues and stacks.
constexpr scope few_values{.threads = 2, .operations = 4, .keys = 1, .prefill = 2};

}  // namespace

void add_epoch(list& to) {
  using enum epoch::write_back;
  using enum epoch::reclamation;
  add_map_at<map>(to, "epoch_hash_map", {});
  add_map_at<map>(to, "epoch_hash_map_updates", {.buffer = 64}, {},
                  {.threads = 3, .operations = 3, .keys = 1, .prefill = 1});
  add_map_at<map>(to, "epoch_hash_map_growing", {}, {.buckets = 1, .load = 1},
                  {.threads = 2, .operations = 4, .keys = 8, .prefill = 3});
  add_map_at<map>(to, "epoch_hash_map_at_once", {.writes = each_operation});
  add_map_at<map>(to, "epoch_hash_map_workers", {.buffer = 64, .reclaims = workers});
  add_map_at<map_of_strings>(to, "epoch_hash_map_strings", {.buffer = 64});
  add<buffered_map_subject<modified_map>, map>(
      to, "epoch_hash_map_modified", {},
      parts_of<modified_map>({}, epoch::map_options{.buckets = 2, .load = 4}));
  structure_parts<two_maps> retry_after_reclaim = parts_of<two_maps>({});
  retry_after_reclaim.memory_bytes = std::size_t{512} << 10;
  add<buffered_map_subject<two_maps>, two_maps>(to, "epoch_two_maps", {}, retry_after_reclaim);
  add<buffered_sequence_subject<queue>, queue>(
      to, "epoch_queue", few_values, sequence_oracle::discipline::queue, parts_of<queue>({}));
  add<buffered_sequence_subject<stack>, stack>(
      to, "epoch_stack", few_values, sequence_oracle::discipline::stack, parts_of<stack>({}));
  add<buffered_graph_subject<walked_graph>, graph>(
      to, "epoch_graph", {.threads = 2, .operations = 4, .keys = 3, .prefill = 4},
      parts_of<walked_graph>({}));

  const scope one_key{.threads = 3, .operations = 3, .keys = 1, .prefill = 1};
  sets::table_options growing;
  growing.buckets = 1;
  growing.growth_check_interval = 1;
  add_nonblocking<lockfree_list>(to, "epoch_lockfree_list", {}, {});
  add_nonblocking<lockfree_list>(to, "epoch_lockfree_list_updates", {.buffer = 64}, one_key);
  add_nonblocking<lockfree_map>(to, "epoch_lockfree_map", {}, {}, sets::table_options{});
  add_nonblocking<lockfree_map>(to, "epoch_lockfree_map_growing", {.writes = each_operation},
                                {.threads = 2, .operations = 4, .keys = 8, .prefill = 3}, growing);
  add_nonblocking<lockfree_map_of_strings>(to, "epoch_lockfree_map_strings", {}, {},
                                           sets::table_options{});
  add<buffered_sequence_subject<lockfree_queue>, lockfree_queue>(
      to, "epoch_lockfree_queue", few_values, sequence_oracle::discipline::queue,
      parts_of<lockfree_queue>({}));
  to.back().blocks = false;
  add_nonblocking<ordered_map>(to, "epoch_ordered_map", {}, {}, sets::skiplist_options{});
}

void add_one_lock_queue(list& to) {
  add<buffered_sequence_subject<one_lock_queue>, one_lock_queue>(
      to, "epoch_one_lock_queue", few_values, sequence_oracle::discipline::queue,
      parts_of<one_lock_queue>({}));
}

void add_bounded_cache(list& to) {
  using enum map_operation;
  using items = items_as_map<epoch::basic_bounded_cache<epoch::buffered<simulated>>>;
  add<buffered_map_subject<items>, items>(
      to, "epoch_bounded_cache", {},
      parts_of<items>({}, epoch::bounded_cache_options{.buckets = 2}),
      std::vector{insert, put, put, update, erase, erase, get, contains, clear});
}

void add_late_root(list& to) {
  add<late_map_subject, map>(to, "epoch_hash_map_late_root", {},
                             parts_of<map>({}, epoch::map_options{.buckets = 2, .load = 4}));
}

}  // namespace outlast::verify::detail
