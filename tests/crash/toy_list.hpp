// A durable list of keys in bare memory [Harris 2001]: every link that is read or changed is
// flushed and fenced before it is relied on. What the verifier's speed is measured with.
#pragma once

#include <outlast/domain/persist.hpp>
#include <outlast/verify/explorer/subject.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace outlast::test {

/// What the author of a list may get wrong.
enum class list_defect {
  none,
  link_not_flushed,    ///< an insertion or erasure may be lost after it was answered
  reader_trusts_mark,  ///< an answer depends on another's unpersisted erasure
  reader_trusts_link,  ///< an answer depends on another's unpersisted insertion
};

template <list_defect Defect>
class toy_list final : public verify::world {
  using D = domain::simulated;
  using word = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t mark = 1;
  static constexpr std::uint64_t node_bytes = 64;

  struct node {  // links are offsets, with the mark of a deletion
    std::uint64_t key;
    word next;
  };
  struct found {
    word* before;
    std::uint64_t at;  // the first node with a key that is not less; 0: none
  };

 public:
  toy_list(std::span<std::byte> memory, bool fresh) : memory_(memory) {
    if (fresh) return;
    // A killed process may have left in the caches what is about to be built upon.
    domain::flush<D>(&head(), sizeof(word));
    for (std::uint64_t at = load(head()); at != 0; at = load(here(at).next) & ~mark) {
      domain::flush<D>(&here(at), sizeof(node));
      used_ = std::max(used_, at / node_bytes);
      if (++steps_ > memory.size() / node_bytes) throw std::runtime_error("a cycle");
    }
    domain::fence<D>();
  }

  verify::outcome apply(const verify::call& what) override {
    switch (static_cast<verify::map_operation>(what.kind)) {
      case verify::map_operation::insert: return {insert(what.key)};
      case verify::map_operation::erase: return {erase(what.key)};
      default: return {contains(what.key)};
    }
  }

  verify::abstract_state observe() override {
    verify::abstract_state keys;
    for (std::uint64_t at = load(head()); at != 0;) {
      const std::uint64_t next = load(here(at).next);
      if ((next & mark) == 0) keys.insert(keys.end(), {here(at).key, 0});
      at = next & ~mark;
    }
    return keys;
  }

 private:
  word& head() { return *reinterpret_cast<word*>(memory_.data()); }
  static std::uint64_t load(const word& at) { return D::load(at, std::memory_order_acquire); }
  /// What is read is relied on: it must not be lost.
  static std::uint64_t read(const word& at) {
    const std::uint64_t value = load(at);
    persist(at);
    return value;
  }
  node& here(std::uint64_t at) {
    if (at % node_bytes != 0 || at + node_bytes > memory_.size()) {
      throw std::runtime_error("wild link");
    }
    return *reinterpret_cast<node*>(memory_.data() + at);
  }
  static void persist(const word& link) {
    if constexpr (Defect != list_defect::link_not_flushed) domain::persist<D>(&link, sizeof(link));
  }

  /// Unlinks the deleted nodes on its way.
  found search(std::uint64_t key) {
    for (;;) {
      word* before = &head();
      std::uint64_t at = read(*before);
      bool clean = true;
      while (at != 0 && clean) {
        node& each = here(at);
        std::uint64_t next = read(each.next);
        if ((next & mark) != 0) {
          next &= ~mark;
          clean = D::compare_exchange(*before, at, next, std::memory_order_acq_rel);
          if (clean) persist(*before);
        } else if (each.key >= key) {
          return {before, at};
        } else {
          before = &each.next;
        }
        at = next;
      }
      if (clean) return {before, 0};
    }
  }

  bool holds(const found& place, std::uint64_t key) {
    return place.at != 0 && here(place.at).key == key;
  }

  bool insert(std::uint64_t key) {
    const std::uint64_t fresh = ++used_ * node_bytes;
    for (;;) {
      const found place = search(key);
      if (holds(place, key)) return false;
      node& mine = here(fresh);
      D::write(&mine.key, &key, sizeof(key));
      D::store(mine.next, place.at, std::memory_order_relaxed);
      domain::persist<D>(&mine, sizeof(mine));
      std::uint64_t expected = place.at;
      if (!D::compare_exchange(*place.before, expected, fresh, std::memory_order_acq_rel)) continue;
      persist(*place.before);
      return true;
    }
  }

  bool erase(std::uint64_t key) {
    for (;;) {
      const found place = search(key);
      if (!holds(place, key)) return false;
      word& link = here(place.at).next;
      std::uint64_t next = read(link);
      if ((next & mark) != 0) continue;
      if (!D::compare_exchange(link, next, next | mark, std::memory_order_acq_rel)) continue;
      persist(link);
      return true;
    }
  }

  bool contains(std::uint64_t key) {
    const auto follow = [](const word& link) {
      return Defect == list_defect::reader_trusts_link ? load(link) : read(link);
    };
    std::uint64_t at = follow(head());
    while (at != 0 && here(at).key < key) at = follow(here(at).next) & ~mark;
    if (at == 0 || here(at).key != key) return false;
    const word& link = here(at).next;
    const bool trusts = Defect == list_defect::reader_trusts_mark;
    return ((trusts ? load(link) : read(link)) & mark) == 0;
  }

  std::span<std::byte> memory_;
  std::uint64_t used_ = 0;
  std::size_t steps_ = 0;
};

template <list_defect Defect>
[[nodiscard]] verify::bare_subject<toy_list<Defect>> list_subject() {
  using enum verify::map_operation;
  return {"toy_list", "hand-written",
          std::make_shared<verify::map_oracle>(
              std::vector<verify::map_operation>{insert, erase, contains}, false)};
}

}  // namespace outlast::test
