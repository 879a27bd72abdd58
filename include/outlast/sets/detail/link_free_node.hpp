// The nodes of link-free sets: what of them is durable, and who makes it so. [Zur19, 3]
//
// Links are not durable, and neither are their marks: they decide, and the verdict (verdict.hpp) in
// the same line makes their decision survive. Whoever's answer rests on a decision sees to that.
#pragma once

#include <outlast/base/marked_ptr.hpp>
#include <outlast/base/raw_atomic.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/durable/roles.hpp>
#include <outlast/lockfree/detail/chain.hpp>
#include <outlast/lockfree/detail/value_slot.hpp>
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

/// Immutable bytes of a node that reach the media behind everything that was stored to their line
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

/// The value of a set's node.
template <domain::persistence_domain D>
class no_bytes {
 public:
  no_bytes(const no_value&, domain::site) noexcept {}
  [[nodiscard]] static no_value get() noexcept { return {}; }
};
template <class Value, domain::persistence_domain D>
using value_bytes =
    std::conditional_t<std::is_same_v<Value, no_value>, no_bytes<D>, ordered_bytes<Value, D>>;

/// Where walks begin, and what nodes begin with.
template <domain::persistence_domain D>
struct link_free_entry {
  using link = base::marked_ptr<link_free_entry, 3>;

  volatile_link<link, D> next;
};

/// One version of a key. Lies in one line, so that its stores survive in their order. On media:
/// docs/formats/sets.md.
template <class Key, class Value, domain::persistence_domain D>
class link_free_node : public link_free_entry<D> {
  using site = domain::site;

 public:
  using key_type = Key;

  /// In a block that says what it said to others, until this: the new key comes behind.
  link_free_node(const Key& its_key, const Value& its_value, site where = site::current())
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
  [[no_unique_address]] value_bytes<Value, D> value;
};

}  // namespace outlast::sets::detail
