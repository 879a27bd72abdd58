// The index into a sorted chain of set nodes: none, or the towers of a skip list in volatile
// memory. [Fra04, Her08]
//
// A list is a chain and its head. A skip list is the same chain with an index: some nodes have a
// tower, an object of its own with a copy of the key. algorithm/tower_index.hpp has the rules of
// the index, and the reason why no search reaches a freed tower. A tower is freed with its node.
#pragma once

#include <outlast/algorithm/chain.hpp>
#include <outlast/algorithm/height_source.hpp>
#include <outlast/algorithm/tower_index.hpp>
#include <outlast/alloc/arena.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/reclaim/concept.hpp>
#include <outlast/sets/detail/set_node.hpp>
#include <outlast/sets/detail/volatile_blocks.hpp>
#include <outlast/sets/schemes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace outlast::sets::detail {

/// The index of a list: walks begin at the head.
struct no_index {
  using options = set_options;
  static constexpr const char* name = "list";
  template <class Base>
  using node = Base;

  /// As towers::of.
  template <class Node, class Compare, domain::persistence_domain D, reclaim::reclaimer Reclaimer>
  class of {
    using cell = decltype(Node::next);

   public:
    of(set_entry<D>& head, const options&, Reclaimer&, const base::callee::reference&)
        : head_(head) {}

    template <class Operation>
    class guard : public Operation {
     public:
      template <class Memory>
      guard(Memory& shared, of&) : Operation(shared) {}
      static void raise(Node&) noexcept {}
    };

    template <class Probe>
    [[nodiscard]] cell& start(const Probe&) const noexcept {
      return head_.next;
    }
    /// The probe for the end: every node precedes it.
    [[nodiscard]] Node* before_the_end() const noexcept { return nullptr; }

    static void append(Node&) noexcept {}
    static void finish() noexcept {}
    [[nodiscard]] static std::size_t bytes() noexcept { return 0; }

   private:
    set_entry<D>& head_;
  };
};

/// The index of a skip list.
struct towers {
  using options = skiplist_options;
  static constexpr const char* name = "skiplist";

  /// A node that may have a tower.
  template <class Base>
  class node : public Base {
    using D = typename Base::domain_type;

   public:
    template <class... Parts>
    explicit node(Parts&&... parts) : Base(std::forward<Parts>(parts)...) {}

    /// Initializes the tower pointer before the node is linked.
    void set_tower(void* to) {
      D::store(tower_.value, to, std::memory_order_relaxed, domain::site::none());
    }
    [[nodiscard]] void* tower() const { return D::load(tower_.value, std::memory_order_relaxed); }

   private:
    base::raw_atomic<void*> tower_;
  };

  /// The index over the chain of one set, which begins at `head`. Thread-safety: as tower_index; no
  /// other member may run during append() and finish().
  template <class Node, class Compare, domain::persistence_domain D, reclaim::reclaimer Reclaimer>
  class of {
    using cell = decltype(Node::next);
    using key_type = typename Node::key_type;

    /// The representative of a node in the index. Its links follow it.
    struct tower {
      tower(Node& its_node, unsigned its_height)
          : of(&its_node), drawn_height(its_height), key(its_node.key.get()) {}

      [[nodiscard]] unsigned height() const noexcept { return drawn_height; }
      [[nodiscard]] bool is_live() const {
        return !of->next.load(durable::role::index).has(algorithm::deleted);
      }

      Node* const of;
      const unsigned drawn_height;
      const typename reading<key_type>::copy key;
    };
    static_assert(sizeof(tower) % alignof(void*) == 0 && alignof(tower) <= alignof(void*),
                  "the links follow the tower");
    using index = algorithm::tower_index<D, tower>;
    using tower_link = typename index::link;

   public:
    of(set_entry<D>& head, const options& how, Reclaimer& reclaimer,
       const base::callee::reference& owner)
        : head_(head),
          reclaimer_(reclaimer),
          owner_(owner),
          heights_(std::clamp(how.highest, 1U, algorithm::max_levels_of_tower),
                   std::max(how.branching, 1U)),
          builder_(std::make_unique<typename index::builder>(index_, head_words_)) {
      for (unsigned h = 2; h <= algorithm::max_levels_of_tower; ++h) {
        blocks_[h - 1] = std::make_unique<blocks>(sizeof(tower) + index::tower_bytes(h));
      }
    }

    /// An operation on a set with towers.
    template <class Operation>
    class guard : public Operation {
     public:
      template <class Memory>
      guard(Memory& shared, of& in) : Operation(shared), index_(in) {}

      template <class Value>
      [[nodiscard]] Node* make(const key_type& key, const Value& value) {
        const unsigned height = index_.heights_.draw();
        void* const block = height > 1 ? index_.blocks_of(height).take() : nullptr;
        try {
          Node* const made = Operation::make(key, value);
          made->set_tower(block == nullptr ? nullptr : index_.begin(block, *made, height));
          return made;
        } catch (...) {
          if (block != nullptr) index_.blocks_of(height).give(block);
          throw;
        }
      }
      void unmake(alloc::arena<D>& arena, Node* never_linked) noexcept {
        if (tower* const its = tower_of(*never_linked)) index_.free(its);
        Operation::unmake(arena, never_linked);
      }
      void retire_unlinked(alloc::arena<D>& arena, Node* node, const void* changed) {
        if (tower* const its = tower_of(*node)) {
          if (!index::unlinked(*its, changed)) return;  // its inserter will
          index_.remove(*its);
        }
        Operation::retire_unlinked(arena, node, changed);
      }

      /// Links the tower of a node that is linked and on which a result may depend.
      void raise(Node& fresh) {
        tower* const its = tower_of(fresh);
        if (its == nullptr) return;
        index_.index_.insert(*its, itself{its->key});
        if (index::end_growth(*its) == nullptr) return;
        index_.remove(*its);
        this->retire(&fresh);
      }

     private:
      of& index_;
    };

    /// The place at which an operation enters the chain, for algorithm::chain.
    template <class Probe>
    class walk_start {
     public:
      walk_start(const of& index, const Probe& what) : index_(index), what_(what) {}

      [[nodiscard]] cell& enter() const {
        const tower* const before = index_.index_.before(*this);
        return before == nullptr ? index_.head_.next : before->of->next;
      }
      [[nodiscard]] bool precedes(tower_link at) const { return Compare{}(at->key, what_.key); }

     private:
      const of& index_;
      const Probe& what_;
    };
    template <class Probe>
    [[nodiscard]] walk_start<Probe> start(const Probe& what) const {
      return {*this, what};
    }
    /// Returns a node that was not deleted at some moment of the call and is followed by few others
    /// before the end, or nullptr for the head.
    [[nodiscard]] Node* before_the_end() const {
      const tower* const last = index_.before(everything{});
      return last == nullptr ? nullptr : last->of;
    }

    /// Builds the index from the chain's nodes, in order.
    void append(Node& node) {
      const unsigned height = heights_.draw();
      if (height == 1) {
        node.set_tower(nullptr);
        return;
      }
      tower* const its = begin(blocks_of(height).take(), node, height);
      node.set_tower(its);
      builder_->append(*its);
    }
    void finish() {
      builder_->finish();
      builder_.reset();
    }

    /// Returns the bytes of volatile memory of towers. For statistics.
    [[nodiscard]] std::size_t bytes() const {
      std::size_t sum = 0;
      for (const auto& each : blocks_) sum += each == nullptr ? 0 : each->reserved_bytes();
      return sum;
    }

   private:
    /// Only its size matters.
    struct blank {
      void* words[2];
    };
    using blocks = volatile_blocks<blank, D>;

    /// Searches for a tower among those of its key.
    struct itself {
      const typename reading<key_type>::copy& key;
      [[nodiscard]] bool precedes(tower_link at) const { return Compare{}(at->key, key); }
      [[nodiscard]] bool matches(tower_link at) const { return !Compare{}(key, at->key); }
    };
    struct everything {
      [[nodiscard]] static bool precedes(tower_link) noexcept { return true; }
    };

    static tower* tower_of(const Node& node) { return static_cast<tower*>(node.tower()); }
    [[nodiscard]] blocks& blocks_of(unsigned height) const { return *blocks_[height - 1]; }

    static tower* begin(void* block, Node& node, unsigned height) {
      auto* const made = ::new (block) tower(node, height);
      index::begin(*made);
      return made;
    }
    void free(tower* its) noexcept { blocks_of(its->height()).give(its); }
    /// Frees a tower that no thread links any more.
    void remove(tower& its) {
      index_.remove(its, itself{its.key});
      const auto give_back = [](void* self, void* gone) noexcept {
        if (gone != nullptr) static_cast<of*>(self)->free(static_cast<tower*>(gone));
      };
      reclaimer_.retire(&its, this, give_back, owner_);
    }

    set_entry<D>& head_;
    Reclaimer& reclaimer_;
    base::callee::reference owner_;
    index index_;
    typename index::head_words head_words_{};
    algorithm::height_source heights_;
    std::array<std::unique_ptr<blocks>, algorithm::max_levels_of_tower> blocks_;
    std::unique_ptr<typename index::builder> builder_;  // until finish()
  };
};

}  // namespace outlast::sets::detail
