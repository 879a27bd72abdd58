// Lock-free structures of a pool that another process uses, read from this one.
//
//   outlast::pool_reader reader("/var/lib/app/state.pool");
//   using table = outlast::lockfree::hash_table<std::uint64_t, std::uint64_t>;
//   outlast::lockfree::reader<table> words(reader, "words");
//   std::optional<std::uint64_t> found = words.get(7);
//
// A reader has the lookups and walks of the structure. It reads the nodes of the writer where they
// are, without a copy and without a message to the writer. Its type is made from the type of the
// structure, which must be the same as the writer's, except for the tag.
//
// Structures: hash_table, harris_list, skiplist and natarajan_tree, if their policy is
// durable::flit and their reclaimer reclaim::epochs. All links of these are in the pool. Others do
// not compile: sets with volatile links, mirrored and buffered structures keep what a lookup needs
// in the memory of the writer. Queues and stacks have no lookups. tx/reader.hpp reads transactions.
//
// When not to use: for walks that take longer than the patience of the writer. They fail, and must
// be repeated.
#pragma once

#include <outlast/algorithm/split_order.hpp>
#include <outlast/algorithm/tower_index.hpp>
#include <outlast/lockfree/detail/outside_reading.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <outlast/pool/pool_reader.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::lockfree {

/// Reads a `Structure` of a pool that another process changes.
///
/// Constructor: reader(pool_reader, name). Throws error{not_found, root_type_mismatch, closed,
/// refused, address_taken} and corruption. The pool_reader outlives the reader.
///
/// Thread-safety: all members may be called concurrently, except construction and destruction.
/// Errors: each operation throws what basic_pool_reader::root::run() throws. Durability: a result
/// is durable at return, as in the writer's process.
template <class Structure>
class reader {
  static_assert(sizeof(Structure) == 0,
                "only hash_table, harris_list, skiplist and natarajan_tree can be read in other "
                "processes: other structures keep a part of what a lookup needs in the memory of "
                "their process");
};

// ---- hash_table ----

template <class Key, class Value, class Policy, class Hash, template <class> class Reclaimer>
class reader<hash_table<Key, Value, Policy, Hash, Reclaimer>> {
  using reads = detail::reading<Policy, Reclaimer>;
  using parts = detail::table_parts<Key, Value, typename reads::policy, Hash, Reclaimer>;
  using twin = hash_table<Key, Value, typename reads::policy, Hash, Reclaimer>;
  using D = typename reads::domain_type;
  using operation = typename reads::operation;
  using link = typename parts::link;
  using node = typename parts::node;
  using sentinel_entry = typename parts::sentinel_entry;
  using root_block = typename detail::hash_table_session<parts>::root_block;
  using chain_order = typename parts::chain_order;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using pool_reader = typename reads::pool_reader;

  reader(pool_reader& in, std::string_view name)
      : root_(std::make_unique<table_root>(in, detail::wanted(name, twin::type()))) {}

  /// Returns true if `key` is present. Lock-free. The result is durable at return.
  [[nodiscard]] bool contains(const Key& key) const {
    return root_->run([&](operation& op) -> std::optional<bool> {
      const std::optional<const node*> found = find(op, key);
      if (!found) return std::nullopt;
      return *found != nullptr;
    });
  }

  /// Returns the value of `key`, or nothing. Lock-free. The result is durable at return.
  [[nodiscard]] std::optional<Value> get(const Key& key) const {
    return root_->run([&](operation& op) -> std::optional<std::optional<Value>> {
      const std::optional<const node*> found = find(op, key);
      if (!found) return std::nullopt;
      return *found == nullptr ? std::optional<Value>() : (*found)->value.load();
    });
  }

  /// Calls `visit(key, value)`, in no specified order, for each key that is present during the
  /// whole walk. A key that is inserted or erased meanwhile may be visited or not. No retired node
  /// of the pool is freed while the walk runs, up to the writer's pool_options::reader_patience_ms.
  /// Throws error{refused} if the walk takes longer, or if the writer meanwhile closes the pool or
  /// drops a root that the walk reads; what was visited before was right. A walk reads its own root
  /// and those that `visit` reads. If `visit` reads several other roots, any dropped root ends the
  /// walk. Throws what `visit` throws.
  template <class Visit>
  void for_each(Visit&& visit) const {
    (void)root_->run_once([&](operation& op) -> std::optional<bool> {
      for (link at = root_->now().sentinel_at(0).next.load(durable::role::decide); at;) {
        if (!holds(op, at)) return std::nullopt;
        const link next = at->next.load(durable::role::decide);
        if (!at.has(algorithm::sentinel) && !next.has(algorithm::deleted)) {
          detail::visit_copy(op, static_cast<const node&>(*at), visit);
        }
        at = next.without(algorithm::deleted);
      }
      return true;
    });
  }

 private:
  /// The segments of one incarnation of the root that operations have used. They do not change.
  struct directory {
    explicit directory(root_block* its_block) : block(its_block) {}

    [[nodiscard]] sentinel_entry& sentinel_at(std::uint64_t order) const noexcept {
      const algorithm::sentinel_place place = algorithm::place_of(order);
      return segments[place.segment].load(std::memory_order_acquire)[place.index];
    }

    root_block* block;
    std::array<std::atomic<sentinel_entry*>, algorithm::max_levels> segments{};
    std::atomic<unsigned> level{0};
  };

  class table_root final : public pool_reader::root {
   public:
    table_root(pool_reader& in, pool_detail::wanted_root wanted)
        : pool_reader::root(in, std::move(wanted)) {
      this->renew();
    }
    [[nodiscard]] directory& now() const noexcept { return *now_.load(std::memory_order_acquire); }
    [[nodiscard]] sentinel_entry* at(std::uint64_t offset) const noexcept {
      return reinterpret_cast<sentinel_entry*>(this->reader().base() + offset);
    }

   private:
    void found(std::byte* object) override {
      auto* const block = reinterpret_cast<root_block*>(object);
      if (!all_.empty() && is_same(*all_.back(), block)) return;
      auto fresh = std::make_unique<directory>(block);
      fresh->segments[0].store(at(D::load(block->segments[0], std::memory_order_acquire)),
                               std::memory_order_relaxed);
      all_.push_back(std::move(fresh));
      now_.store(all_.back().get(), std::memory_order_release);
    }
    [[nodiscard]] bool is_same(const directory& known, const root_block* block) const {
      if (known.block != block) return false;
      for (unsigned s = 0; s <= known.level.load(std::memory_order_acquire); ++s) {
        if (at(D::load(block->segments[s], std::memory_order_acquire)) !=
            known.segments[s].load(std::memory_order_relaxed)) {
          return false;
        }
      }
      return true;
    }

    std::vector<std::unique_ptr<directory>> all_;  // operations may use earlier ones
    std::atomic<directory*> now_{nullptr};
  };

  [[nodiscard, gnu::always_inline]] static bool holds(operation& op, link at) {
    return op.holds(at.get(), at.has(algorithm::sentinel) ? sizeof(sentinel_entry) : sizeof(node));
  }

  [[nodiscard]] static bool has_level(const directory& in, unsigned level) {
    return level < algorithm::max_levels &&
           D::load(in.block->segments[level], std::memory_order_acquire) != 0;
  }

  static constexpr unsigned no_level = ~0U;

  /// Returns the present level, after the segments up to it are known; no_level if there can be no
  /// such segment. An optional would be written in two parts and read as one, which costs as much
  /// as the announcement.
  [[nodiscard, gnu::always_inline]] unsigned level_of(operation& op, directory& in) const {
    const unsigned level = in.level.load(std::memory_order_acquire);
    if (!has_level(in, level + 1)) [[likely]]
      return level;
    return learn_level(op, in, level);
  }
  [[gnu::noinline]] unsigned learn_level(operation& op, directory& in, unsigned level) const {
    for (; has_level(in, level + 1); ++level) {
      const std::uint64_t offset =
          D::load(in.block->segments[level + 1], std::memory_order_acquire);
      const std::size_t bytes = algorithm::sentinels_in(level + 1) * sizeof(sentinel_entry);
      // An invalid operation must leave nothing behind.
      if (!op.holds_range(offset, bytes) || !op.is_valid()) return no_level;
      in.segments[level + 1].store(root_->at(offset), std::memory_order_release);
    }
    unsigned known = in.level.load(std::memory_order_relaxed);
    while (known < level && !in.level.compare_exchange_weak(known, level)) {
    }
    return level;
  }

  static bool is_ready(const sentinel_entry& bucket) {
    return (bucket.place.load(std::memory_order_acquire) & algorithm::ready_bit) != 0;
  }

  /// Returns the live node of the key, or nullptr; nothing if it met an address at which no entry
  /// can be. Links no sentinel: it enters at an ancestor then.
  [[nodiscard, gnu::always_inline]] std::optional<const node*> find(operation& op,
                                                                    const Key& key) const {
    directory& in = root_->now();
    const std::uint64_t hash = parts::hash_of(key);
    const unsigned level = level_of(op, in);
    if (level == no_level) [[unlikely]]
      return std::nullopt;
    const std::uint64_t wanted = algorithm::bucket_order(hash, level);
    std::uint64_t order = wanted;
    const sentinel_entry* start = &in.sentinel_at(order);
    while (order != 0 && !is_ready(*start)) {
      order = algorithm::parent_of(order);
      start = &in.sentinel_at(order);
    }
    for (link at = start->next.load(durable::role::decide); at;) {
      // The next bucket begins, unless this one was split since.
      if (at.has(algorithm::sentinel) && order == wanted && !has_level(in, level + 1)) break;
      if (!holds(op, at)) return std::nullopt;
      const link next = at->next.load(durable::role::decide);
      if (chain_order::is_node_of(at, key, hash)) {
        if (!next.has(algorithm::deleted)) return static_cast<const node*>(at.get());
      } else if (chain_order::order_of(at) > (hash | algorithm::node_bits) &&
                 !next.has(algorithm::deleted)) {
        break;
      }
      at = next.without(algorithm::deleted);
    }
    return static_cast<const node*>(nullptr);
  }

  std::unique_ptr<table_root> root_;
};

// ---- harris_list ----

template <class Key, class Value, class Policy, class Compare, template <class> class Reclaimer>
class reader<harris_list<Key, Value, Policy, Compare, Reclaimer>>
    : public detail::sorted_reading<reader<harris_list<Key, Value, Policy, Compare, Reclaimer>>,
                                    Key, Value, Compare> {
  using reads = detail::reading<Policy, Reclaimer>;
  using twin = harris_list<Key, Value, typename reads::policy, Compare, Reclaimer>;
  using operation = typename reads::operation;
  using node = typename twin::node;
  using block = typename twin::session::root_block;
  template <class, class, class, class>
  friend class detail::sorted_reading;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using pool_reader = typename reads::pool_reader;

  reader(pool_reader& in, std::string_view name)
      : root_(std::make_unique<root_type>(in, detail::wanted(name, twin::type()))) {}

 private:
  using root_type = detail::object_root<typename reads::domain_type, block>;

  template <class Visit>
  [[nodiscard]] bool walk(operation& op, const Key*, Visit&& visit) const {
    return detail::walk_chain(
        root_->object().head.load(durable::role::decide),
        [&](const node* at) { return op.holds(at, sizeof(node)); }, visit);
  }
  [[nodiscard]] std::optional<const node*> find(operation& op, const Key& key) const {
    const node* found = nullptr;
    const auto visit = [&](const node& at) {
      if (Compare{}(at.key.get(), key)) return true;
      if (!Compare{}(key, at.key.get())) found = &at;
      return false;
    };
    if (!walk(op, nullptr, visit)) return std::nullopt;
    return found;
  }
  [[nodiscard]] std::optional<const node*> last(operation& op) const {
    const node* found = nullptr;
    const auto visit = [&](const node& at) {
      found = &at;
      return true;
    };
    if (!walk(op, nullptr, visit)) return std::nullopt;
    return found;
  }

  std::unique_ptr<root_type> root_;
};

// ---- skiplist ----

template <class Key, class Value, class Policy, class Compare, template <class> class Reclaimer>
class reader<skiplist<Key, Value, Policy, Compare, Reclaimer>>
    : public detail::sorted_reading<reader<skiplist<Key, Value, Policy, Compare, Reclaimer>>, Key,
                                    Value, Compare> {
  using reads = detail::reading<Policy, Reclaimer>;
  using twin = skiplist<Key, Value, typename reads::policy, Compare, Reclaimer>;
  using operation = typename reads::operation;
  using node = typename twin::node;
  using index = typename twin::index;
  using block = typename twin::session::root_block;
  template <class, class, class, class>
  friend class detail::sorted_reading;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using pool_reader = typename reads::pool_reader;

  reader(pool_reader& in, std::string_view name)
      : root_(std::make_unique<root_type>(in, detail::wanted(name, twin::type()))) {}

 private:
  using root_type = detail::object_root<typename reads::domain_type, block>;

  /// Returns whether there can be a node whose tower reaches `level`.
  [[nodiscard, gnu::always_inline]] static bool holds(operation& op, const node* at,
                                                      unsigned level) {
    if (!op.holds(at, sizeof(node))) return false;
    if (level == 0) return true;
    const unsigned height = at->height();
    return height > level && height <= algorithm::max_levels_of_tower &&
           op.holds(at, twin::bytes_of(height));
  }

  /// Returns the last node in the towers that precedes and was alive during the call, or nullptr
  /// for the head; nothing if it met an address at which no node can be. As tower_index::before().
  template <class Precedes>
  [[nodiscard]] std::optional<const node*> before(operation& op, Precedes&& precedes) const {
    const auto& head = root_->object().towers;
    const node* from = nullptr;
    for (unsigned level = top(); level >= 1; --level) {
      auto at = (from == nullptr ? head[level - 1] : index::link_of(*from, level))
                    .load(std::memory_order_acquire);
      while (at) {
        if (!holds(op, at.get(), level)) return std::nullopt;
        if (!precedes(*at)) break;
        if (!at->next.load(durable::role::index).has(algorithm::deleted)) from = at.get();
        at = index::link_of(*at, level).load(std::memory_order_acquire);
      }
    }
    return from;
  }
  /// Returns a level above which no node was linked some time ago. Nodes above only make a search
  /// shorter.
  [[nodiscard]] unsigned top() const {
    const auto& head = root_->object().towers;
    unsigned level = top_.load(std::memory_order_relaxed);
    const unsigned before = level;
    while (level + 1 < algorithm::max_levels_of_tower &&
           head[level].load(std::memory_order_relaxed)) {
      ++level;
    }
    if (level != before) top_.store(level, std::memory_order_relaxed);
    return level;
  }

  template <class Visit>
  [[nodiscard]] bool walk_after(operation& op, const node* from, Visit&& visit) const {
    const auto& first = from == nullptr ? root_->object().head : from->next;
    return detail::walk_chain(
        first.load(durable::role::decide), [&](const node* at) { return holds(op, at, 0); }, visit);
  }
  template <class Visit>
  [[nodiscard]] bool walk(operation& op, const Key* from, Visit&& visit) const {
    if (from == nullptr) return walk_after(op, nullptr, visit);
    const auto start = before(op, [&](const node& at) { return Compare{}(at.key.get(), *from); });
    return start && walk_after(op, *start, visit);
  }
  [[nodiscard]] std::optional<const node*> find(operation& op, const Key& key) const {
    const node* found = nullptr;
    const auto visit = [&](const node& at) {
      if (Compare{}(at.key.get(), key)) return true;
      if (!Compare{}(key, at.key.get())) found = &at;
      return false;
    };
    if (!walk(op, &key, visit)) return std::nullopt;
    return found;
  }
  [[nodiscard]] std::optional<const node*> last(operation& op) const {
    for (;;) {
      const auto start = before(op, [](const node&) { return true; });
      if (!start) return std::nullopt;
      const node* found = nullptr;
      const auto visit = [&](const node& at) {
        found = &at;
        return true;
      };
      if (!walk_after(op, *start, visit)) return std::nullopt;
      if (found != nullptr || *start == nullptr) return found;
      // The start was the last one. It is the answer if it is still alive.
      if (!(*start)->next.load(durable::role::decide).has(algorithm::deleted)) return *start;
      if (!op.holds(*start, sizeof(node))) return std::nullopt;
    }
  }

  std::unique_ptr<root_type> root_;
  mutable std::atomic<unsigned> top_{0};
};

// ---- natarajan_tree ----

template <class Key, class Value, class Policy, class Compare, template <class> class Reclaimer>
class reader<natarajan_tree<Key, Value, Policy, Compare, Reclaimer>>
    : public detail::sorted_reading<reader<natarajan_tree<Key, Value, Policy, Compare, Reclaimer>>,
                                    Key, Value, Compare> {
  using reads = detail::reading<Policy, Reclaimer>;
  using twin = natarajan_tree<Key, Value, typename reads::policy, Compare, Reclaimer>;
  using operation = typename reads::operation;
  using nodes = typename twin::parts;
  using edge = typename nodes::edge;
  using leaf = typename nodes::leaf;
  using internal = typename nodes::internal;
  using block = typename twin::session::root_block;
  template <class, class, class, class>
  friend class detail::sorted_reading;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using pool_reader = typename reads::pool_reader;

  reader(pool_reader& in, std::string_view name)
      : root_(std::make_unique<root_type>(in, detail::wanted(name, twin::type()))) {}

 private:
  using root_type = detail::object_root<typename reads::domain_type, block>;

  [[nodiscard]] edge top() const { return root_->object().root.load(durable::role::decide); }
  [[nodiscard, gnu::always_inline]] static bool holds(operation& op, edge at) {
    return op.holds(at.get(), at.has(algorithm::to_leaf) ? sizeof(leaf) : sizeof(internal));
  }

  /// Goes down to a leaf. `at` becomes the edge that names it, which names nothing in an empty
  /// tree. Returns false if it met an address at which no node can be.
  template <class GoesLeft>
  [[nodiscard, gnu::always_inline]] static bool descend(operation& op, edge& at,
                                                        GoesLeft&& goes_left) {
    while (at) {
      if (!holds(op, at)) return false;
      if (at.has(algorithm::to_leaf)) return true;
      const internal& here = *nodes::internal_at(at);
      at = (goes_left(here) ? here.left : here.right).load(durable::role::decide);
    }
    return true;
  }

  [[nodiscard]] std::optional<const leaf*> find(operation& op, const Key& key) const {
    const algorithm::tree_probe<Key, Compare> probe{key};
    edge at = top();
    if (!descend(op, at, [&](const internal& here) { return probe.goes_left(here); })) {
      return std::nullopt;
    }
    const bool found = at && !at.has(algorithm::flagged) && probe.matches(*nodes::leaf_at(at));
    return found ? nodes::leaf_at(at) : nullptr;
  }

  [[nodiscard]] std::optional<const leaf*> last(operation& op) const {
    const leaf* found = nullptr;
    // The greatest leaf may be deleted: the walk passes those before it, too.
    edge at = top();
    if (!descend(op, at, [](const internal&) { return false; })) return std::nullopt;
    if (!at || !at.has(algorithm::flagged)) return at ? nodes::leaf_at(at) : nullptr;
    const auto visit = [&](const leaf& each) {
      found = &each;
      return true;
    };
    if (!walk(op, nullptr, visit)) return std::nullopt;
    return found;
  }

  template <class Visit>
  [[nodiscard]] bool walk(operation& op, const Key* from, Visit&& visit) const {
    std::vector<const internal*> to_the_right;  // what is left to do, innermost last
    const auto goes_left = [&](const internal& here) {
      if (from != nullptr && !Compare{}(*from, here.key.get())) return false;
      to_the_right.push_back(&here);
      return true;
    };
    const leaf* last = nullptr;
    for (edge at = top(); at;) {
      if (!descend(op, at, goes_left)) return false;
      if (!at) return true;
      const leaf* const here = nodes::leaf_at(at);
      // After a node that was taken out meanwhile there may be new keys that do not come next.
      const bool comes_next = last == nullptr || Compare{}(last->key.get(), here->key.get());
      if (!at.has(algorithm::flagged) && comes_next && !visit(*(last = here))) return true;
      if (to_the_right.empty()) return true;
      at = to_the_right.back()->right.load(durable::role::decide);
      to_the_right.pop_back();
    }
    return true;
  }

  std::unique_ptr<root_type> root_;
};

}  // namespace outlast::lockfree
