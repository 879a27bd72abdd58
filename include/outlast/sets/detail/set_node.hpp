// The nodes of sets whose links do not survive: what of them does, and where it stands. [Zur19]
//
// Links are not durable, and neither are their marks: they decide, and the verdict (verdict.hpp) in
// a line of the pool makes their decision survive. Each version of a key has a record there:
// verdict, key and value. The link stands beside it in the same line (`line_node`), or with a copy
// of key and value in volatile memory (`copied_node`), where walks touch no persistent memory.
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

/// A link that does not survive, in a node that does or in no pool at all.
template <class Link, domain::persistence_domain D>
class volatile_link {
 public:
  using value_type = Link;

  /// Before other threads can reach it.
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

/// What of a version survives whatever its key and value are: what is said about the key.
template <domain::persistence_domain D>
class stored_state {
  using site = domain::site;

 public:
  /// In a block that says what it said to others, until this: the new key comes behind.
  explicit stored_state(site where) {
    D::store(word_.value, node_state::none().word(), std::memory_order_release, where);
  }

  [[nodiscard]] node_state says(std::memory_order order = std::memory_order_acquire) const {
    return node_state(D::load(word_.value, order));
  }
  /// Says "live" if it has said nothing yet.
  void say_live(std::uint64_t stamp, site where = site::current()) {
    std::uint64_t nothing = 0;
    (void)D::compare_exchange(word_.value, nothing, node_state::live(stamp).word(),
                              std::memory_order_acq_rel, where);
  }
  /// Says "dead" unless it does already: a note that this is durable stays, lookups rest on it.
  void say_dead(site where = site::current()) {
    std::uint64_t said = says().word();
    while (!node_state(said).is_dead() &&
           !D::compare_exchange(word_.value, said, node_state(said).dead().word(),
                                std::memory_order_acq_rel, where)) {
    }
  }
  /// Whatever it has said, by whoever comes: what others say meanwhile rests on what it has said.
  void store_state(node_state what, site where = site::current()) {
    D::store(word_.value, what.word(), std::memory_order_release, where);
  }
  /// That what it has said was waited for; if it says something else by now, nothing.
  void note_durable(node_state said) {
    std::uint64_t word = said.word();
    (void)D::compare_exchange(word_.value, word, said.durable().word(), std::memory_order_release,
                              site::none());
  }

 private:
  base::raw_atomic<std::uint64_t> word_;
};

/// What survives of one version of a key. Lies in one line, so that its stores survive in their
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

/// The same where key and value lie elsewhere in the pool, together: nothing orders their lines and
/// the record's, so the record has a check of what they hold. A record that does not agree with it
/// says nothing: nobody has waited for it.
template <class Key, class Value, domain::persistence_domain D>
class distant_record : public stored_state<D> {
 public:
  using key_type = Key;
  static constexpr bool is_distant = true;

  /// How many bytes elsewhere a key and a value take.
  [[nodiscard]] static std::size_t bytes_for(const Key& key, const Value& value) noexcept {
    return in_words(reading<Key>::size_of(key)) + in_words(reading<Value>::size_of(value));
  }

  /// `elsewhere` has room for bytes_for(its_key, its_value).
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
  /// Where `pages` are the pool's: do key and value agree with the check?
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

/// Where walks begin, and what nodes begin with.
template <domain::persistence_domain D>
struct set_entry {
  using domain_type = D;
  using link = base::marked_ptr<set_entry, 3>;

  volatile_link<link, D> next;
};

/// A version of which everything stands in one line of the pool. On media: docs/formats/sets.md.
template <class Key, class Value, domain::persistence_domain D>
class line_node : public set_entry<D>, public record<Key, Value, D> {
 public:
  static constexpr bool has_copy = false;

  /// As its record.
  template <class... Parts>
  explicit line_node(Parts&&... parts) : record<Key, Value, D>(std::forward<Parts>(parts)...) {}

  /// What lookups see.
  [[nodiscard]] phase seen() const { return this->says().seen(); }
};

/// A version with a copy in volatile memory, and what lookups have to know of its verdict.
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
    // (2) acquire; synchronizes-with (1): what it says is durable before it is seen.
    const std::uintptr_t word = record_.load(std::memory_order_acquire);
    if ((word & dead_bit) != 0) return phase::over;
    return (word & live_bit) != 0 ? phase::current : phase::not_yet;
  }

  [[nodiscard]] node_state says() const {
    const std::uintptr_t word = record_.load(std::memory_order_acquire);
    const node_state said = record_of(word).says();
    return (word & bit_for(said)) != 0 ? said.durable() : said;
  }
  void say_live(std::uint64_t stamp, domain::site where = domain::site::current()) {
    stored().say_live(stamp, where);
  }
  void say_dead(domain::site where = domain::site::current()) { stored().say_dead(where); }
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
