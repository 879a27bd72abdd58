// The nodes of sets whose links do not survive: their durable part, and its place. [Zur19]
//
// Links are not durable, and neither are their marks. They decide, and the state (node_state.hpp)
// in a line of the pool makes their decision survive. Each version of a key has a record there:
// state, key and value. The link is in the same line (`line_node`), or in volatile memory with a
// copy of key and value (`copied_node`), where walks touch no persistent memory.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/marked_ptr.hpp>
#include <outlast/base/raw_atomic.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/pages/page_line.hpp>
#include <outlast/sets/detail/node_state.hpp>
#include <outlast/sets/detail/stored_bytes.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace outlast::sets::detail {

/// A link that does not survive, in a node in a pool or in volatile memory.
template <class Link, domain::persistence_domain D>
class volatile_link {
 public:
  using value_type = Link;

  /// Initializes the link before other threads can reach it.
  void init(Link to) { D::store(word_.value, to, std::memory_order_relaxed, nowhere); }
  [[nodiscard]] Link load(durable::role) const {
    return D::load(word_.value, std::memory_order_acquire);
  }
  bool compare_exchange(Link& expected, Link desired, durable::role) {
    return D::compare_exchange(word_.value, expected, desired, std::memory_order_acq_rel, nowhere);
  }
  static void arrived(durable::role) noexcept {}

 private:
  static constexpr domain::site nowhere = domain::site::none();

  base::raw_atomic<Link> word_;
};

/// The state of a version, which survives whatever the types of its key and value are.
template <domain::persistence_domain D>
class stored_state {
  using site = domain::site;

 public:
  /// Clears the state of a former node in the block. The new key is stored after that.
  explicit stored_state(site where) {
    D::store(word_.value, node_state::none().word(), std::memory_order_release, where);
  }

  [[nodiscard]] node_state state(std::memory_order order = std::memory_order_acquire) const {
    return node_state(D::load(word_.value, order));
  }
  /// Stores "live" if no state was stored yet.
  void store_live(std::uint64_t stamp, site where = site::current()) {
    std::uint64_t nothing = 0;
    (void)D::compare_exchange(word_.value, nothing, node_state::live(stamp).word(),
                              std::memory_order_acq_rel, where);
  }
  /// Stores "dead" unless the state is dead. The mark that this is durable stays, because lookups
  /// depend on it.
  void store_dead(site where = site::current()) {
    std::uint64_t said = state().word();
    while (!node_state(said).is_dead() &&
           !D::compare_exchange(word_.value, said, node_state(said).dead().word(),
                                std::memory_order_acq_rel, where)) {
    }
  }
  /// Replaces the state, whichever thread has stored it. Later states depend on this one.
  void store_state(node_state what, site where = site::current()) {
    D::store(word_.value, what.word(), std::memory_order_release, where);
  }
  /// Records that the flush of `said` was waited for. Does nothing if the state has changed.
  void note_durable(node_state said) {
    std::uint64_t word = said.word();
    (void)D::compare_exchange(word_.value, word, said.durable().word(), std::memory_order_release,
                              site::none());
  }

 private:
  base::raw_atomic<std::uint64_t> word_;
};

/// The record of one version of a key. It is in one line, so that its stores survive in their
/// order. On media: docs/formats/sets.md.
template <class Key, class Value, domain::persistence_domain D>
class line_record : public stored_state<D> {
 public:
  using key_type = Key;
  static constexpr bool is_distant = false;

  line_record(const Key& its_key, const Value& its_value, domain::site where)
      : stored_state<D>(where), key(its_key, where), value(its_value, where) {}

  ordered_bytes<Key, D> key;
  [[no_unique_address]] bytes_of_value<Value, ordered_bytes<Value, D>> value;
};

/// A record whose key and value are elsewhere in the pool, together. The order of their lines and
/// the record's is undefined, so the record has a checksum of them. A record with a wrong checksum
/// has no state: no thread has waited for it.
template <class Key, class Value, domain::persistence_domain D>
class distant_record : public stored_state<D> {
 public:
  using key_type = Key;
  static constexpr bool is_distant = true;

  /// Returns the number of bytes elsewhere for a key and a value.
  [[nodiscard]] static std::size_t bytes_for(const Key& key, const Value& value) noexcept {
    return in_words(reading<Key>::size_of(key)) + in_words(reading<Value>::size_of(value));
  }

  /// Requires: `elsewhere` has room for bytes_for(its_key, its_value).
  distant_record(std::byte* elsewhere, const Key& its_key, const Value& its_value,
                 domain::site where)
      : stored_state<D>(where),
        key(elsewhere, reading<Key>::size_of(its_key), where),
        value(elsewhere + in_words(reading<Key>::size_of(its_key)),
              reading<Value>::size_of(its_value), where) {
    write(elsewhere, reading<Key>::bytes_of(its_key), key.size(), where);
    write(elsewhere + in_words(key.size()), reading<Value>::bytes_of(its_value), value.size(),
          where);
    D::store(check_.value, check_of_data(), std::memory_order_release, where);
  }

  [[nodiscard]] const std::byte* data() const noexcept { return key.data(); }
  [[nodiscard]] std::size_t data_bytes() const noexcept {
    return in_words(key.size()) + in_words(value.size());
  }
  /// Returns true if key and value agree with the checksum. `pages` are the pool's.
  template <class Pages>
  [[nodiscard]] bool is_whole(const Pages& pages) const {
    const std::size_t most = std::size_t{pages.limit()} * pool_format::page_size;
    if (key.size() > most || value.size() > most) return false;
    if (!pages.contains(key.data())) return false;
    if (value.data() != key.data() + in_words(key.size())) return false;
    if (data_bytes() != 0 && !pages.contains(key.data() + data_bytes() - 1)) return false;
    return D::load(check_.value, std::memory_order_relaxed) == check_of_data();
  }

 private:
  static void write(std::byte* to, const void* from, std::size_t size, domain::site where) {
    if (size == 0) return;
    D::write(to, from, size, where);
    if (const std::size_t rest = in_words(size) - size; rest != 0) {
      constexpr std::byte zeros[8] = {};
      D::write(to + size, zeros, rest, where.at(1));
    }
  }
  [[nodiscard]] std::uint64_t check_of_data() const noexcept {
    const std::uint64_t sizes = base::mix64(key.size()) + value.size();
    return base::mix64(pool_format::checksum_of(data(), data_bytes()) ^ sizes);
  }

 public:
  distant_bytes<Key, D> key;
  distant_bytes<Value, D> value;

 private:
  base::raw_atomic<std::uint64_t> check_;
};

template <class Key, class Value, domain::persistence_domain D>
using record = std::conditional_t<fit_line<Key, Value>, line_record<Key, Value, D>,
                                  distant_record<Key, Value, D>>;

/// The beginning of nodes and sentinels: the link.
template <domain::persistence_domain D>
struct set_entry {
  using domain_type = D;
  using link = base::marked_ptr<set_entry, 3>;

  volatile_link<link, D> next;
};

/// A version in one line of the pool. On media: docs/formats/sets.md.
template <class Key, class Value, domain::persistence_domain D>
class line_node : public set_entry<D>, public record<Key, Value, D> {
 public:
  static constexpr bool has_copy = false;

  /// Makes a node as its record.
  template <class... Parts>
  explicit line_node(Parts&&... parts) : record<Key, Value, D>(std::forward<Parts>(parts)...) {}

  /// Returns the part of the state that lookups need.
  [[nodiscard]] phase seen() const { return this->state().seen(); }
};

/// A version with a copy in volatile memory, and the part of its state that lookups need.
template <class Key, class Value, domain::persistence_domain D>
class copied_node : public set_entry<D> {
 public:
  static constexpr bool has_copy = true;
  using key_type = Key;
  using record_type = record<Key, Value, D>;

  explicit copied_node(record_type& its_record)
      : key(its_record.key.get()),
        value(its_record.value.get()),
        record_(reinterpret_cast<std::uintptr_t>(&its_record)) {}

  [[nodiscard]] record_type& stored() const { return record_of(record_.load(relaxed)); }

  [[nodiscard]] phase seen() const {
    // (2) acquire; synchronizes-with (1): the state is durable before it is seen.
    const std::uintptr_t word = record_.load(std::memory_order_acquire);
    if ((word & dead_bit) != 0) return phase::over;
    return (word & live_bit) != 0 ? phase::current : phase::not_yet;
  }

  [[nodiscard]] node_state state() const {
    const std::uintptr_t word = record_.load(std::memory_order_acquire);
    const node_state said = record_of(word).state();
    return (word & bit_for(said)) != 0 ? said.durable() : said;
  }
  void store_live(std::uint64_t stamp, domain::site where = domain::site::current()) {
    stored().store_live(stamp, where);
  }
  void store_dead(domain::site where = domain::site::current()) { stored().store_dead(where); }
  void store_state(node_state what, domain::site where = domain::site::current()) {
    stored().store_state(what, where);
  }
  void note_durable(node_state said) {
    // (1) release; synchronizes-with (2).
    (void)record_.fetch_or(bit_for(said), std::memory_order_release);
  }

  const copied_bytes<Key> key;
  [[no_unique_address]] const bytes_of_value<Value, copied_bytes<Value>> value;

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr std::uintptr_t live_bit = 1;
  static constexpr std::uintptr_t dead_bit = 2;
  static_assert(alignof(record_type) >= 8);

  static record_type& record_of(std::uintptr_t word) {
    return *reinterpret_cast<record_type*>(word & ~(live_bit | dead_bit));
  }
  static std::uintptr_t bit_for(node_state said) noexcept {
    if (said.is_live()) return live_bit;
    return said.is_dead() ? dead_bit : 0;
  }

  domain::volatile_word<D, std::uintptr_t>
      record_;  // its address, and what of its verdict is durable
};

}  // namespace outlast::sets::detail
