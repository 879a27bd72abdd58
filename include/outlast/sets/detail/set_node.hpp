// The nodes of sets whose links do not survive: what of them does, and where it stands. [Zur19]
//
// Links are not durable, and neither are their marks: they decide, and the verdict (verdict.hpp) in
// a line of the pool makes their decision survive. Each version of a key has a record there:
// verdict, key and value. The link stands beside it in the same line (`line_node`), or with a copy
// of key and value in volatile memory (`copied_node`), where walks touch no persistent memory.
#pragma once

#include <outlast/base/marked_ptr.hpp>
#include <outlast/base/raw_atomic.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/lockfree/detail/chain.hpp>
#include <outlast/lockfree/detail/value_slot.hpp>
#include <outlast/pool/volatile_word.hpp>
#include <outlast/sets/detail/verdict.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

namespace outlast::sets::detail {

using lockfree::no_value;

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

/// Immutable bytes of a record that reach the media behind everything that was stored to their line
/// before: each word of them is a release. [L4]
template <class T, domain::persistence_domain D>
class ordered_bytes {
 public:
  ordered_bytes(const T& value, domain::site where) {
    std::uint64_t words[words_count] = {};
    std::memcpy(words, &value, sizeof(T));
    for (std::size_t i = 0; i < words_count; ++i) {
      D::store(words_[i].value, words[i], std::memory_order_release, where);
    }
  }
  ordered_bytes(const ordered_bytes&) = delete;
  ordered_bytes& operator=(const ordered_bytes&) = delete;

  [[nodiscard]] const T& get() const noexcept {
    return *std::launder(reinterpret_cast<const T*>(words_));
  }

 private:
  static constexpr std::size_t words_count = (sizeof(T) + 7) / 8;

  base::raw_atomic<std::uint64_t> words_[words_count];
};

/// A copy of such bytes, in volatile memory.
template <class T>
class copied_bytes {
 public:
  explicit copied_bytes(const T& value) : value_(value) {}
  [[nodiscard]] const T& get() const noexcept { return value_; }

 private:
  T value_;
};

/// The value of a set.
class no_bytes {
 public:
  explicit no_bytes(const no_value&, domain::site = domain::site::none()) noexcept {}
  [[nodiscard]] static no_value get() noexcept { return {}; }
};
template <class Value, class Bytes>
using bytes_of_value = std::conditional_t<std::is_same_v<Value, no_value>, no_bytes, Bytes>;

/// What survives of one version of a key. Lies in one line, so that its stores survive in their
/// order. On media: docs/formats/sets.md.
template <class Key, class Value, domain::persistence_domain D>
class record {
  using site = domain::site;

 public:
  using key_type = Key;

  /// In a block that says what it said to others, until this: the new key comes behind.
  record(const Key& its_key, const Value& its_value, site where)
      : verdict_(where), key(its_key, where), value(its_value, where) {}

  [[nodiscard]] verdict says(std::memory_order order = std::memory_order_acquire) const {
    return verdict(D::load(verdict_.value, order));
  }
  /// Says "live" if it has said nothing yet.
  void say_live(std::uint64_t stamp, site where = site::current()) {
    std::uint64_t nothing = 0;
    (void)D::compare_exchange(verdict_.value, nothing, verdict::live(stamp).word(),
                              std::memory_order_acq_rel, where);
  }
  /// Says "dead" unless it does already: a note that this is durable stays, lookups rest on it.
  void say_dead(site where = site::current()) {
    std::uint64_t said = says().word();
    while (!verdict(said).is_dead() &&
           !D::compare_exchange(verdict_.value, said, verdict(said).dead().word(),
                                std::memory_order_acq_rel, where)) {
    }
  }
  /// Whatever it has said, by whoever comes: what others say meanwhile rests on what it has said.
  void say(verdict what, site where = site::current()) {
    D::store(verdict_.value, what.word(), std::memory_order_release, where);
  }
  /// That what it has said was waited for; if it says something else by now, nothing.
  void note_durable(verdict said) {
    std::uint64_t word = said.word();
    (void)D::compare_exchange(verdict_.value, word, said.durable().word(),
                              std::memory_order_release, site::none());
  }

 private:
  /// Says nothing to begin with.
  struct verdict_word {
    explicit verdict_word(site where) {
      D::store(value, verdict::none().word(), std::memory_order_release, where);
    }
    union {
      std::atomic<std::uint64_t> value;
    };
  };

  verdict_word verdict_;

 public:
  ordered_bytes<Key, D> key;
  [[no_unique_address]] bytes_of_value<Value, ordered_bytes<Value, D>> value;
};

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

  line_node(const Key& its_key, const Value& its_value,
            domain::site where = domain::site::current())
      : record<Key, Value, D>(its_key, its_value, where) {}

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

  copied_node(record_type& its_record, const Key& its_key, const Value& its_value)
      : key(its_key), value(its_value), record_(reinterpret_cast<std::uintptr_t>(&its_record)) {}

  [[nodiscard]] record_type& stored() const { return record_of(record_.load(relaxed)); }

  [[nodiscard]] phase seen() const {
    // (2) acquire; synchronizes-with (1): what it says is durable before it is seen.
    const std::uintptr_t word = record_.load(std::memory_order_acquire);
    if ((word & dead_bit) != 0) return phase::over;
    return (word & live_bit) != 0 ? phase::current : phase::not_yet;
  }

  [[nodiscard]] verdict says() const {
    const std::uintptr_t word = record_.load(std::memory_order_acquire);
    const verdict said = record_of(word).says();
    return (word & bit_for(said)) != 0 ? said.durable() : said;
  }
  void say_live(std::uint64_t stamp, domain::site where = domain::site::current()) {
    stored().say_live(stamp, where);
  }
  void say_dead(domain::site where = domain::site::current()) { stored().say_dead(where); }
  void say(verdict what, domain::site where = domain::site::current()) {
    stored().say(what, where);
  }
  void note_durable(verdict said) {
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
  static std::uintptr_t bit_for(verdict said) noexcept {
    if (said.is_live()) return live_bit;
    return said.is_dead() ? dead_bit : 0;
  }

  volatile_word<D, std::uintptr_t> record_;  // its address, and what of its verdict is durable
};

}  // namespace outlast::sets::detail
