// A hash table's nodes, and its volatile state while it is attached: its directory of sentinels,
// its growth and its recovery.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/algorithm/split_order.hpp>
#include <outlast/algorithm/value_slot.hpp>
#include <outlast/alloc/arena.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/marked_ptr.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/domain/parallel.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/durable/replicas.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/lockfree/detail/recovery.hpp>
#include <outlast/lockfree/table_options.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

namespace outlast::lockfree {
template <class Structure>
class reader;
}

namespace outlast::lockfree::detail {

/// The types of one hash table. On media: docs/formats/lockfree.md.
template <class Key, class Value, class Policy, class Hash, template <class> class Reclaimer>
struct table_parts {
  using policy_type = Policy;
  using D = typename Policy::domain_type;
  struct entry;
  struct node;
  using link = base::marked_ptr<entry, 2>;
  using cell = typename Policy::template cell<link>;
  using reclaimer = Reclaimer<D>;
  using operation = typename Policy::template operation<reclaimer>;
  using chain_type = algorithm::chain<entry, node, operation, alloc::arena<D>>;

  /// An entry of the chain: a node or a sentinel.
  struct entry {
    cell next;
  };
  /// The sentinel of one bucket. All zero until a thread claims it.
  struct alignas(2 * sizeof(cell)) sentinel_entry : entry {
    durable::plain_word<Policy> place;  // see split_order.hpp
  };
  /// The hash of a number is computed as fast as it is read. The node keeps the hash of other keys.
  static constexpr bool keeps_hash =
      !(std::same_as<Hash, base::default_hash<Key>> && (std::integral<Key> || std::is_enum_v<Key>));
  struct no_hash {
    explicit no_hash(std::uint64_t) noexcept {}
  };
  struct kept_hash {
    explicit kept_hash(std::uint64_t hash) { word.store(hash, std::memory_order_relaxed); }
    durable::plain_word<Policy> word;
  };
  struct node : entry {
    node(std::uint64_t its_hash, const Key& its_key, const Value& its_value)
        : hash(its_hash), key(its_key), value(its_value) {}

    [[no_unique_address]] std::conditional_t<keeps_hash, kept_hash, no_hash> hash;
    typename Policy::template field<Key> key;
    [[no_unique_address]] mutable algorithm::value_slot<Value, Policy> value;
  };

  static std::uint64_t place_in(const sentinel_entry& of) {
    return of.place.load(std::memory_order_relaxed);
  }
  static std::uint64_t hash_in(const node& of) {
    if constexpr (keeps_hash) {
      return of.hash.word.load(std::memory_order_relaxed);
    } else {
      return hash_of(of.key.get());
    }
  }
  /// The order of the chain.
  struct chain_order {
    using link = table_parts::link;

    static std::uint64_t order_of(link at) {
      if (at.has(algorithm::sentinel)) return place_in(static_cast<const sentinel_entry&>(*at));
      return hash_in(static_cast<const node&>(*at)) | algorithm::node_bits;
    }
    static bool is_node_of(link at, const Key& key, std::uint64_t hash) {
      if (at.has(algorithm::sentinel)) return false;
      const node& here = static_cast<const node&>(*at);
      if constexpr (keeps_hash) {
        if (hash_in(here) != hash) return false;
      }
      return here.key.get() == key;
    }
  };
  /// Returns the hash with its bits spread: the top bits select the bucket.
  static std::uint64_t hash_of(const Key& key) {
    const auto hash = static_cast<std::uint64_t>(Hash{}(key));
    return std::same_as<Hash, base::default_hash<Key>> ? hash : base::mix64(hash);
  }
};

/// The volatile state of a hash table while it is attached. `Parts` is a table_parts.
template <class Parts>
class hash_table_session final : public roots::root_session<typename Parts::D> {
  using D = typename Parts::D;
  using Policy = typename Parts::policy_type;
  using base_type = roots::root_session<D>;
  using entry = typename Parts::entry;
  using node = typename Parts::node;
  using sentinel_entry = typename Parts::sentinel_entry;
  using link = typename Parts::link;
  using cell = typename Parts::cell;
  using reclaimer = typename Parts::reclaimer;
  using operation = typename Parts::operation;
  using chain_type = typename Parts::chain_type;
  using chain_order = typename Parts::chain_order;
  using sentinel_probe = algorithm::sentinel_probe<chain_order>;
  template <class>
  friend class lockfree::reader;

  /// On media: docs/formats/lockfree.md. Segments are offsets in the pool; zero means absent.
  struct alignas(base::cache_line_size) root_block {
    std::atomic<std::uint64_t> grows;
    std::atomic<std::uint64_t> count_at_close;
    std::atomic<std::uint64_t> segments[algorithm::max_levels];
    std::uint64_t reserved[5];
  };
  static_assert(sizeof(root_block) == 6 * base::cache_line_size);
  static_assert(offsetof(root_block, segments) == 16);

 public:
  using pool_type = basic_pool<D>;
  using walk_start = algorithm::bucket_head<chain_order, hash_table_session, cell>;
  using base_type::arena;
  using base_type::pool;

  hash_table_session(pool_type& in, const attached_root& root, const table_options& options)
      : base_type(in, root),
        nodes_(in.template service<reclaimer>()),
        growth_check_interval_(std::max(options.growth_check_interval, 1U)) {
    const bool all_is_recovered = durable::attach_replicas<Policy>(in, arena());
    if (root.state == root_state::fresh) {
      create(options);
      return;
    }
    block_ = this->template object<root_block>();
    attach_segments();
    if (root.pointers_base != in.base()) relocate();
    was_recovered_ = root.state != root_state::clean;
    if (was_recovered_ || all_is_recovered) {
      recover();
    } else {
      arena().load_clean();
      count_.start_at(static_cast<std::int64_t>(load(block_->count_at_close)));
    }
  }

  /// Throws error{bad_argument} if the table was created with other options than `wanted`.
  void require_made_as(const table_options& wanted) const {
    constexpr table_options usual;
    if (!wanted.grows && grows_) refuse_wish("grows is false", "was made to grow");
    const std::size_t buckets = std::size_t{1} << level();
    if (!grows_ && wanted.buckets != usual.buckets && buckets_for(wanted) != buckets) {
      refuse_wish("buckets is " + std::to_string(wanted.buckets),
                  "has " + std::to_string(buckets) + " and was made not to grow");
    }
  }

  /// Returns the place at which an operation on `hash` enters the chain. Links the bucket's
  /// sentinel if this is the bucket's first use.
  walk_start enter(operation& op, std::uint64_t hash) {
    const unsigned level = this->level();
    const std::uint64_t wanted = algorithm::bucket_order(hash, level);
    sentinel_entry& own = sentinel_of(wanted);
    sentinel_entry& start = is_ready(own) ? own : link_or_go_round(op, wanted);
    return {*this, &start.next, hash, level, &start == &own};
  }

  /// Counts an insert. Checks periodically whether the table must grow.
  void inserted() {
    const std::uint64_t additions = count_.add(1);
    if (additions % growth_check_interval_ != 0 || !grows_) return;
    if (count_.sum() > std::int64_t{1} << level()) grow();
  }

  bool before_close() override {
    if (interrupted_.load(std::memory_order_relaxed)) return false;
    // What flags sentinels as ready was never flushed; a clean open trusts it.
    for (unsigned s = 0; s <= level(); ++s) {
      domain::flush<D>(durable::to_durable<Policy>(segment(s)),
                       algorithm::sentinels_in(s) * sizeof(sentinel_entry));
    }
    D::store(block_->count_at_close, static_cast<std::uint64_t>(count_.sum()),
             std::memory_order_relaxed);
    domain::persist<D>(block_, sizeof(root_block));
    return true;
  }
  void collect_all() override { nodes_.collect_all(); }
  void forbid() noexcept override { nodes_.forbid(); }

  [[nodiscard]] reclaimer& nodes() noexcept { return nodes_; }
  [[nodiscard]] cell& first() noexcept { return segment(0)->next; }
  [[nodiscard]] unsigned level() const noexcept { return level_.load(std::memory_order_acquire); }
  [[nodiscard]] base::sharded_count& count() noexcept { return count_; }
  [[nodiscard]] bool was_recovered() const noexcept { return was_recovered_; }

 private:
  static std::uint64_t load(const std::atomic<std::uint64_t>& word) {
    return D::load(word, std::memory_order_acquire);
  }

  [[nodiscard]] sentinel_entry* segment(unsigned s) const noexcept {
    return segments_[s].load(std::memory_order_acquire);
  }
  [[nodiscard]] sentinel_entry& sentinel_of(std::uint64_t order) const noexcept {
    const algorithm::sentinel_place place = algorithm::place_of(order);
    return segment(place.segment)[place.index];
  }
  static bool is_ready(const sentinel_entry& bucket) {
    return (bucket.place.load(std::memory_order_acquire) & algorithm::ready_bit) != 0;
  }
  [[nodiscard]] sentinel_entry& ready_ancestor(std::uint64_t order) const {
    for (;;) {
      order = algorithm::parent_of(order);
      sentinel_entry& ancestor = sentinel_of(order);
      if (is_ready(ancestor)) return ancestor;
    }
  }

  /// Returns the sentinel of bucket `order`, linked now if no other thread links it, or else an
  /// ancestor's. Ancestors are linked first, so each is found in a few steps from its own ancestor.
  sentinel_entry& link_or_go_round(operation& op, std::uint64_t order) {
    sentinel_entry& own = sentinel_of(order);
    if (is_ready(own) || link_sentinel(op, own, order)) return own;
    return ready_ancestor(order);
  }

  /// Links the sentinel of a bucket if no other thread links it. Returns false otherwise: the
  /// operation then enters at an ancestor, so a thread that stops in this function blocks no other.
  bool link_sentinel(operation& op, sentinel_entry& own, std::uint64_t order) {
    if (!own.place.claim(order)) return is_ready(own);
    try {
      link_claimed(op, own, order);
    } catch (...) {
      // The sentinel may be linked or not: operations use the ancestor as long as the pool is open.
      // The next opener recovers, which claims nothing.
      interrupted_.store(true, std::memory_order_relaxed);
      throw;
    }
    return true;
  }

  void link_claimed(operation& op, sentinel_entry& own, std::uint64_t order) {
    cell& start = link_or_go_round(op, algorithm::parent_of(order)).next;
    chain_type in_chain(op, arena());
    const link to_own(&own, algorithm::sentinel);
    for (bool linked = false; !linked;) {
      const auto here = in_chain.locate(start, sentinel_probe{order});
      own.next.init(here.at);
      op.persist_private(own);
      here.settle_edge();
      link expected = here.at;
      linked = here.before->compare_exchange(expected, to_own, durable::role::link);
    }
    // Walks may enter here only now that the link is durable: the p-store above has returned. (I3)
    own.place.store(order | algorithm::ready_bit, std::memory_order_release);
  }

  /// Doubles the buckets in one thread at a time. The other threads use the present buckets
  /// meanwhile.
  void grow() {
    const std::unique_lock growth(growing_, std::try_to_lock);
    if (!growth.owns_lock()) return;
    const unsigned next = level() + 1;
    if (next < algorithm::max_levels && count_.sum() > std::int64_t{1} << level()) {
      try {
        add_segment(next);
        level_.store(next, std::memory_order_release);
      } catch (const std::exception&) {
        // Growth is optional, and the insert that led here has taken effect: chains are longer, and
        // nothing is lost. The next operation that meets the fault of the pool reports it.
      }
    }
  }

  /// Makes a segment of blank sentinels, durable before the root block names it.
  void add_segment(unsigned s) {
    const std::size_t bytes = algorithm::sentinels_in(s) * sizeof(sentinel_entry);
    auto* const stored =
        static_cast<sentinel_entry*>(arena().allocate(bytes, base::cache_line_size));
    sentinel_entry* const sentinels = durable::to_working<Policy>(stored);
    durable::blank<Policy>(sentinels, bytes);
    domain::persist<D>(stored, bytes);
    D::store(block_->segments[s], offset_of(stored), std::memory_order_release);
    domain::persist<D>(&block_->segments[s], sizeof(block_->segments[s]));
    segments_[s].store(sentinels, std::memory_order_release);
  }

  [[nodiscard]] std::uint64_t offset_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) - pool().base();
  }

  [[noreturn]] void refuse_wish(const std::string& wanted, const std::string& is) const {
    throw error(errc::bad_argument, path_of_pool(),
                "table_options::" + wanted + ", and the table " + is +
                    ", fixed when it was created; leave the option out, or copy the table");
  }
  static std::size_t buckets_for(const table_options& options) noexcept {
    return std::bit_ceil(std::clamp<std::size_t>(options.buckets, 1, std::size_t{1} << 40));
  }

  void create(const table_options& options) {
    void* const memory = arena().allocate(sizeof(root_block), alignof(root_block));
    D::zero(memory, sizeof(root_block));
    block_ = static_cast<root_block*>(memory);
    grows_ = options.grows;
    D::store(block_->grows, options.grows ? 1 : 0, std::memory_order_relaxed);
    domain::persist<D>(block_, sizeof(root_block));
    const auto last = static_cast<unsigned>(std::countr_zero(buckets_for(options)));
    for (unsigned s = 0; s <= last; ++s) add_segment(s);
    segment(0)->place.store(algorithm::ready_bit, std::memory_order_relaxed);
    domain::persist<D>(durable::to_durable<Policy>(segment(0)), sizeof(sentinel_entry));
    level_.store(last, std::memory_order_release);
    pool().publish_root(this->root().index, block_);
  }

  /// Attaches the directory: the segments that the root block names, without a gap.
  void attach_segments() {
    grows_ = load(block_->grows) != 0;
    unsigned s = 0;
    for (; s < algorithm::max_levels; ++s) {
      const std::uint64_t offset = load(block_->segments[s]);
      if (offset == 0) break;
      auto* const at = reinterpret_cast<sentinel_entry*>(pool().base() + offset);
      if (!holds(at, algorithm::sentinels_in(s) * sizeof(sentinel_entry))) {
        report_corrupt_chain(pool().path(), "has a directory outside of the pool");
      }
      segments_[s].store(durable::to_working<Policy>(at), std::memory_order_relaxed);
    }
    if (s == 0) report_corrupt_chain(pool().path(), "has no directory");
    level_.store(s - 1, std::memory_order_release);
  }

  /// Returns true if a block of this root that can hold `bytes` begins at `first`.
  [[nodiscard]] bool holds(const void* first, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(first) % alignof(sentinel_entry) == 0 &&
           pool().pages().block_bytes(first, this->root().index) >= bytes;
  }

  // --- recovery -------------------------------------------------------------------------------

  /// One byte per sentinel of a segment: whether it is linked. Bytes, because threads write
  /// adjacent ones.
  using reached_sentinels = std::vector<std::uint8_t>;

  /// Repairs the table after a crash. Re-entrant: a crash in this function is an ordinary crash.
  void recover() {
    auto marking = arena().begin_recovery();
    marking.mark(block_);
    for (unsigned s = 0; s <= level(); ++s) {
      if (marking.mark(durable::to_durable<Policy>(segment(s)))) continue;
      report_corrupt_chain(pool().path(), "has a directory that overlaps itself");
    }
    const auto reached = std::make_unique<reached_sentinels[]>(level() + 1);
    for (unsigned s = 0; s <= level(); ++s) reached[s].resize(algorithm::sentinels_in(s));
    constexpr unsigned level_worth_a_thread = 10;
    const unsigned threads = level() < level_worth_a_thread ? 1 : domain::threads_for_opening<D>();
    const std::vector<link> starts = section_starts(threads);
    std::vector<unlinked_nodes<Policy>> unlinked(threads);
    std::atomic<std::size_t> next{0};
    std::atomic<std::int64_t> count{0};
    base::in_parallel(threads, [&](unsigned worker) {
      for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < starts.size();) {
        const link end = i + 1 < starts.size() ? starts[i + 1] : link();
        count += recover_section(starts[i], end, marking, reached.get(), unlinked[worker]);
      }
      domain::fence<D>();  // for the flushes of this thread
    });
    count_.start_at(count.load());
    marking.finish();
    settle_sentinels(reached.get());
    for (auto& each : unlinked) each.free_in(arena());
  }

  /// Returns sentinels that split the chain into sections which can be recovered separately, in
  /// order. They are the first sentinel, and some that are recorded as linked. A record is always
  /// true (I3), but may be missing; then there are fewer sections.
  std::vector<link> section_starts(unsigned threads) {
    constexpr unsigned sections_per_thread = 16;
    const auto wanted = static_cast<unsigned>(std::bit_width(threads * sections_per_thread - 1));
    const unsigned bits = std::min(level(), threads == 1 ? 1 : wanted);
    std::vector<link> starts{link(segment(0), algorithm::sentinel)};
    for (std::uint64_t i = 1; i >> bits == 0; ++i) {
      const std::uint64_t order = i << (64 - bits);
      sentinel_entry& bucket = sentinel_of(order);
      if (Parts::place_in(bucket) == (order | algorithm::ready_bit)) {
        starts.emplace_back(&bucket, algorithm::sentinel);
      }
    }
    return starts;
  }

  /// The orders that may follow in a section. Entries of another section are not touched, because
  /// another thread may be there.
  struct orders {
    std::uint64_t least;
    std::uint64_t greatest;

    void pass(std::uint64_t order, const std::string& path) {
      if (order < least || order > greatest) report_corrupt_chain(path, "is out of order");
      least = order;
    }
  };

  /// Recovers the chain from the sentinel `at` to the sentinel `end`, or to the end of the chain.
  /// Returns the number of keys in between.
  template <class Marking>
  std::int64_t recover_section(link at, link end, Marking& marking, reached_sentinels* reached,
                               unlinked_nodes<Policy>& unlinked) {
    orders allowed{0, end ? chain_order::order_of(end) : ~std::uint64_t{0}};
    std::int64_t count = 0;
    cell* before = nullptr;
    while (at != end) {
      if (!at) report_corrupt_chain(pool().path(), "ends before its last bucket");
      const bool is_sentinel = at.has(algorithm::sentinel);
      entry& here =
          is_sentinel ? recover_sentinel(at, allowed, reached) : recover_node(at, allowed, marking);
      const link next = here.next.load();
      if (next.has(algorithm::deleted)) {
        if (is_sentinel) report_corrupt_chain(pool().path(), "deletes a bucket");
        before->store(next.without(algorithm::deleted), durable::role::unlink);
        unlinked.add(&here);
      } else {
        before = &here.next;
        count += is_sentinel ? 0 : 1;
      }
      at = next.without(algorithm::deleted);
    }
    return count;
  }

  /// Recovers a sentinel, whose order follows from its position.
  entry& recover_sentinel(link at, orders& allowed, reached_sentinels* reached) {
    const algorithm::sentinel_place place = place_of_address(at.get());
    allowed.pass(algorithm::order_of(place) | algorithm::ready_bit, pool().path());
    if (reached[place.segment][place.index] != 0) {
      report_corrupt_chain(pool().path(), "runs in a circle");
    }
    reached[place.segment][place.index] = 1;
    sentinel_entry& here = static_cast<sentinel_entry&>(*at);
    here.next.recover();
    fetch_buckets_behind(algorithm::order_of(place));
    return here;
  }

  /// Prefetches buckets that the walk will reach. The chain has the address of the next node only,
  /// but the directory has the present or former first node of each bucket.
  void fetch_buckets_behind(std::uint64_t order) const {
    constexpr std::uint64_t soon = 8;
    if (level() == 0) return;
    const std::uint64_t step = std::uint64_t{1} << (64 - level());
    if (order > ~std::uint64_t{0} - 2 * soon * step) return;
    durable::expect_recovery<Policy>(&sentinel_of(order + 2 * soon * step));
    const link first = sentinel_of(order + soon * step).next.survived();
    durable::expect_recovery<Policy>(durable::to_working<Policy>(first.get()));
  }

  template <class Marking>
  entry& recover_node(link at, orders& allowed, Marking& marking) {
    const entry* const block = durable::to_durable<Policy>(at.get());
    if (!marking.mark(block)) {
      report_corrupt_chain(pool().path(), "runs in a circle");
    }
    require_place<node>(pool().path(), block, arena().usable_size(block));
    node& here = static_cast<node&>(*at);
    here.next.recover();
    here.value.recover();
    if constexpr (Parts::keeps_hash) {
      if (Parts::hash_in(here) != Parts::hash_of(here.key.get())) {
        report_corrupt_chain(pool().path(), "has a node whose hash is not that of its key");
      }
    }
    allowed.pass(chain_order::order_of(at), pool().path());
    return here;
  }

  /// Marks linked sentinels as ready, and clears those that a crash prevented from being linked.
  /// Called after all links are durable, because the next recovery depends on the record of a
  /// sentinel.
  void settle_sentinels(const reached_sentinels* reached) {
    for (unsigned s = 0; s <= level(); ++s) {
      for (std::size_t i = 0; i < reached[s].size(); ++i) {
        sentinel_entry& bucket = segment(s)[i];
        if (reached[s][i] != 0) {
          const std::uint64_t order = algorithm::order_of({s, i}) | algorithm::ready_bit;
          if (Parts::place_in(bucket) != order)
            bucket.place.store(order, std::memory_order_relaxed);
          continue;
        }
        if (Parts::place_in(bucket) == 0 && !bucket.next.load()) continue;
        durable::blank<Policy>(&bucket, sizeof(bucket));
        domain::flush<D>(durable::to_durable<Policy>(&bucket), sizeof(bucket));
      }
    }
    domain::fence<D>();
  }

  [[nodiscard]] algorithm::sentinel_place place_of_address(const entry* address) const {
    for (unsigned s = 0; s <= level(); ++s) {
      const auto distance =
          reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(segment(s));
      const std::size_t index = distance / sizeof(sentinel_entry);
      if (distance % sizeof(sentinel_entry) == 0 && index < algorithm::sentinels_in(s)) {
        return {s, index};
      }
    }
    report_corrupt_chain(this->path_of_pool(), "names a bucket outside of the directory");
  }
  [[nodiscard]] const std::string& path_of_pool() const {
    return const_cast<hash_table_session*>(this)->pool().path();
  }

  /// Moves the table to another address. Re-entrant: moves each pointer at most once, also if an
  /// earlier process has moved others.
  void relocate() {
    relocate_chain(pool(), this->root(), first());
    domain::fence<D>();
    pool().root_relocated(this->root().index);
  }

  reclaimer& nodes_;
  const std::uint64_t growth_check_interval_;
  root_block* block_ = nullptr;
  bool grows_ = true;
  bool was_recovered_ = false;
  alignas(base::cache_line_size) domain::volatile_word<D, unsigned> level_{0};
  std::array<domain::volatile_word<D, sentinel_entry*>, algorithm::max_levels> segments_{};
  alignas(base::cache_line_size) base::sharded_count count_;
  domain::spin_lock<D> growing_;
  std::atomic<bool> interrupted_{false};  // a sentinel stays claimed
};

}  // namespace outlast::lockfree::detail
