// Goal: the lists that the documentation makes durable by changing a few lines are durable. Method:
// the explorer runs these texts, compiled for the simulated machine (CMakeLists.txt replaces the
// domain), and texts with a mistake, which it must find.
#include <tests/crash/converted_list.hpp>

#include <outlast/alloc/arena.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/explorer/map_subject.hpp>

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <string_view>

namespace outlast::test {
namespace {

using D = domain::simulated;

/// The nodes of a list in a pool: what 01_convert_a_list.cpp does for the native domain.
template <class Node>
class node_memory {
 public:
  node_memory(basic_pool<D>& pool, std::string_view name)
      : root_(pool.attach_root(name, "number_set", 1, false)), arena_(pool.pages(), root_.index) {
    if (root_.state == root_state::fresh) {
      head_ = make(0, nullptr);
      durable::operation_completion<D>();
      pool.publish_root(root_.index, head_);
      return;
    }
    head_ = reinterpret_cast<Node*>(pool.base() + root_.object_offset);
    auto recovery = arena_.begin_recovery();
    for (Node* at = head_; at != nullptr; at = unmarked(at->next.load())) {
      recovery.mark(at);
      at->next.recover();
      at->key.recover();
    }
    recovery.finish();
  }
  Node* make(std::uint64_t key, Node* next) {
    return ::new (arena_.allocate(sizeof(Node), alignof(Node))) Node(key, next);
  }
  void unmake(Node* never_linked) { arena_.deallocate(never_linked, sizeof(Node)); }
  Node& head() { return *head_; }

 private:
  attached_root root_;
  alloc::arena<D> arena_;
  Node* head_ = nullptr;
};

/// The nodes of a mirrored list: what 03_mirror_structure.cpp does for the native domain. Where it
/// flushes nodes is for the mutant to leave out.
template <class Node, bool FlushesNodes>
class mirrored_memory {
 public:
  mirrored_memory(basic_pool<D>& pool, std::string_view name)
      : root_(pool.attach_root(name, "mirrored_set", 1, false)), arena_(pool.pages(), root_.index) {
    durable::attach_replicas<mirror_policy>(pool, arena_);
    if (root_.state == root_state::fresh) {
      head_ = make(0, nullptr);
      domain::fence<D>();
      pool.publish_root(root_.index, durable::to_durable<mirror_policy>(head_));
      return;
    }
    head_ = durable::to_working<mirror_policy>(
        reinterpret_cast<Node*>(pool.base() + root_.object_offset));
    auto recovery = arena_.begin_recovery();
    for (Node* at = head_; at != nullptr; at = unmarked(at->next.load())) {
      recovery.mark(durable::to_durable<mirror_policy>(at));
      at->next.recover();
    }
    recovery.finish();
  }
  Node* make(std::uint64_t key, Node* next) {
    auto* const block = static_cast<Node*>(arena_.allocate(sizeof(Node), alignof(Node)));
    Node* const fresh = ::new (durable::to_working<mirror_policy>(block)) Node(key, next);
    if (FlushesNodes) domain::flush<D>(block, sizeof(Node));
    return fresh;
  }
  void unmake(Node* never_linked) {
    arena_.deallocate(durable::to_durable<mirror_policy>(never_linked));
  }
  Node& head() { return *head_; }

 private:
  attached_root root_;
  alloc::arena<D> arena_;
  Node* head_ = nullptr;
};
template <class Node>
using careful_memory = mirrored_memory<Node, true>;
template <class Node>
using careless_memory = mirrored_memory<Node, false>;

/// As map_subject wants a set.
template <class Node, template <class> class Set, template <class> class Memory = node_memory>
class set_in_pool {
 public:
  using pool_type = basic_pool<D>;
  using mapped_type = roots::no_value;
  struct policy_type {
    static std::string name() { return "converted"; }
  };

  set_in_pool(pool_type& pool, std::string_view name)
      : memory_(pool, name), set_(memory_, memory_.head()) {}
  bool insert(std::uint64_t key, roots::no_value = {}) { return set_.insert(key); }
  bool erase(std::uint64_t key) { return set_.erase(key); }
  bool contains(std::uint64_t key) { return set_.contains(key); }
  template <class Visit>
  void for_each(Visit&& visit) {
    Node* at = memory_.head().next.load();
    while (at != nullptr) {
      Node* const next = at->next.load();
      if (!deleted(next)) visit(static_cast<std::uint64_t>(at->key), roots::no_value{});
      at = unmarked(next);
    }
  }

 private:
  Memory<Node> memory_;
  Set<Memory<Node>> set_;
};

template <class Structure>
verify::report explore(const verify::memory_model& model) {
  using subject = verify::map_subject<Structure>;
  typename subject::parts how;
  how.operations = {verify::map_operation::insert, verify::map_operation::insert,
                    verify::map_operation::erase, verify::map_operation::contains};
  subject tested("number_set", how);
  verify::options options;
  options.seconds = 60;
  options.max_executions = 200;
  options.model = model;
  return verify::explorer(tested, options).run();
}

TEST(ConvertedList, survives_every_crash) {
  for (const verify::memory_model& model :
       {verify::memory_model{}, verify::memory_model{.rmw_fences = true, .store_buffers = true},
        verify::memory_model{.weak_same_line = true}}) {
    const verify::report done = explore<set_in_pool<converted::node, converted::number_set>>(model);
    EXPECT_FALSE(done.found) << to_text(*done.found);
    EXPECT_GT(done.images_checked, 1000U);
  }
}

TEST(ConvertedList, does_not_without_its_guards) {
  const verify::report done = explore<set_in_pool<unguarded::node, unguarded::number_set>>({});
  EXPECT_TRUE(done.found) << to_text(done);
}

TEST(ConvertedList, does_not_where_its_links_are_v_instructions) {
  const verify::report done = explore<set_in_pool<unflushed::node, unflushed::number_set>>({});
  EXPECT_TRUE(done.found) << to_text(done);
}

TEST(MirroredList, survives_every_crash) {
  for (const verify::memory_model& model :
       {verify::memory_model{}, verify::memory_model{.rmw_fences = true, .store_buffers = true},
        verify::memory_model{.weak_same_line = true}}) {
    const verify::report done =
        explore<set_in_pool<mirrored::node, mirrored::number_set, careful_memory>>(model);
    EXPECT_FALSE(done.found) << to_text(*done.found);
    EXPECT_GT(done.images_checked, 1000U);
  }
}

TEST(MirroredList, does_not_where_its_nodes_are_not_flushed) {
  const verify::report done =
      explore<set_in_pool<mirrored::node, mirrored::number_set, careless_memory>>({});
  EXPECT_TRUE(done.found) << to_text(done);
}

}  // namespace
}  // namespace outlast::test
