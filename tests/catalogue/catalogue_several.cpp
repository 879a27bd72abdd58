// Several roots of one pool: operations on one of them, while others are created, dropped, and fail
// to be created. Their pages go back and are used again; what was retired of them is not freed.
#include <tests/catalogue/catalogue_entries.hpp>
#include <tests/catalogue/pool_subject.hpp>
#include <tests/catalogue/set_entries.hpp>
#include <tests/catalogue/several_roots.hpp>

#include <outlast/base/hash.hpp>
#include <outlast/domain/spin_lock.hpp>
#include <outlast/epoch/buffered_stack.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_queue.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/stack.hpp>
#include <outlast/sets/schemes.hpp>
#include <outlast/verify/explorer/buffered_subject.hpp>
#include <outlast/verify/explorer/sequence_subject.hpp>
#include <outlast/verify/machine/poisoning_epochs.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace outlast::verify::detail {
namespace {

using domain::simulated;
using number = std::uint64_t;

// ---- runs of pages ----

/// A map whose entries are runs of one page, of the owner of a root, beside roots that fail to be
/// created in the first place of the directory.
class run_world final : public world {
 public:
  explicit run_world(std::unique_ptr<simulated_pool> pool)
      : pool_(std::move(pool)), place_(*pool_), owner_(own_root()), others_(*pool_) {
    place_.leave();
    pool_->pages().for_each_run([&](std::uint32_t page, pool_format::run_word run) {
      if (run.owner != owner_ || page == object_page_) return;
      const entry found = *entry_at(page);
      if (found.proof != base::mix64(found.key ^ found.value)) wrong_ = "an entry is torn";
      if (!pages_.emplace(found.key, page).second) wrong_ = "a key has two entries";
    });
  }

  outcome apply(const call& what) override {
    others_.go_on();
    const std::lock_guard lock(lock_);
    const auto at = pages_.find(what.key);
    const bool present = at != pages_.end();
    if (present && !is_mine(at->second)) wrong_ = "a run is gone whose owner has not given it back";
    switch (static_cast<map_operation>(what.kind)) {
      case map_operation::insert: return {!present && insert(what.key, what.argument)};
      case map_operation::erase: return {present && erase(at)};
      case map_operation::get:
        return present ? outcome{true, entry_at(at->second)->value} : outcome{};
      default: return {present};
    }
  }

  abstract_state observe() override {
    abstract_state state;
    for (const auto& [key, page] : pages_) {
      state.push_back(key);
      state.push_back(entry_at(page)->value);
    }
    return state;
  }

  std::string check(bool) override {
    if (!wrong_.empty()) return wrong_;
    for (const auto& [key, page] : pages_) {
      if (!is_mine(page)) return "a run is gone whose owner has not given it back";
    }
    return check_accounts(*pool_);
  }

  void close() override {
    pool_->detach_root(owner_, false);
    pool_->close();
  }

 private:
  struct entry {
    number proof;
    number key;
    number value;
  };
  /// Without anything that could be done to it.
  struct nothing {
    nothing(simulated_pool& pool, const std::string& name)
        : pool_(pool), root_(pool.attach_root(name, "nothing", 2, true)) {
      if (root_.state != root_state::fresh) return;
      alloc::arena<simulated> blocks(pool.pages(), root_.index);
      pool.publish_root(root_.index, blocks.allocate(64));
    }
    ~nothing() { pool_.detach_root(root_.index, false); }
    nothing(const nothing&) = delete;
    nothing& operator=(const nothing&) = delete;

   private:
    simulated_pool& pool_;
    attached_root root_;
  };
  struct use_of_nothing {
    static void fill(nothing&) {}
    static std::string complaint(nothing&, bool) { return ""; }
  };

  std::uint32_t own_root() {
    const attached_root root = pool_->attach_root("runs", "runs", 3, false);
    if (root.state == root_state::fresh) {
      void* const object = pool_->pages().allocate_run(pool_format::run_kind::large, root.index, 0,
                                                       1, pool_format::page_bytes);
      object_page_ = pool_->pages().page_of(object);
      pool_->publish_root(root.index, object);
    } else {
      object_page_ = static_cast<std::uint32_t>(root.object_offset / pool_format::page_bytes);
    }
    return root.index;
  }

  [[nodiscard]] entry* entry_at(std::uint32_t page) const {
    return static_cast<entry*>(pool_->pages().address_of(page));
  }
  [[nodiscard]] bool is_mine(std::uint32_t page) const {
    const pool_format::run_word run = pool_->pages().run_at(page);
    return run.kind == pool_format::run_kind::large && run.owner == owner_;
  }

  bool insert(number key, number value) {
    auto& pages = pool_->pages();
    const std::optional<std::uint32_t> page = pages.claim(1);
    if (!page) throw out_of_space("the pool of a scenario is full");
    const entry made{base::mix64(key ^ value), key, value};
    simulated::write(entry_at(*page), &made, sizeof made);
    domain::persist<simulated>(entry_at(*page), sizeof made);
    pages.publish({*page, {pool_format::run_kind::large, 0, owner_, 1}, pool_format::page_bytes});
    simulated::psync();  // an answer waits for the store buffer
    pages_.emplace(key, *page);
    return true;
  }
  bool erase(std::map<number, std::uint32_t>::iterator at) {
    const std::uint32_t page = at->second;
    pages_.erase(at);
    pool_->pages().free_run(pool_->pages().address_of(page));
    simulated::psync();
    return true;
  }

  std::unique_ptr<simulated_pool> pool_;
  first_place<simulated_pool> place_;
  std::uint32_t object_page_ = 0;
  std::uint32_t owner_;
  other_roots<simulated_pool, nothing, use_of_nothing> others_;
  domain::spin_lock<simulated> lock_;
  std::map<number, std::uint32_t> pages_;
  std::string wrong_;
};

// ---- structures ----

template <template <class> class Reclaimer>
using stack = lockfree::stack<number, usual_policy, Reclaimer>;
using buffered_stack = epoch::stack<number, simulated>;

constexpr std::size_t room = std::size_t{768} << 10;

/// Three operations of the thread with the task: all three steps.
constexpr scope three_steps{.threads = 2, .operations = 3, .keys = 2, .prefill = 2};

template <class Structure, class... Options>
typename map_subject<Structure>::parts map_parts(const Options&... options) {
  using enum map_operation;
  typename map_subject<Structure>::parts how;
  how.make = [options...](auto& pool) {
    return std::make_unique<Structure>(pool, "subject", options...);
  };
  how.operations = {insert, insert, erase, erase, contains};
  how.memory_bytes = room;
  return how;
}

template <class Structure, class Other, class... Options>
void add_map_beside(list& to, const std::string& name, const Options&... options) {
  using tested = beside_others<Structure, Other>;
  add_map<tested>(to, name, map_parts<tested>(options...), three_steps);
  to.back().type.clear();
  to.back().blocks = true;
}

template <class Structure, class... Options>
structure_parts<Structure> buffered_parts(epoch::reclamation reclaims, const Options&... options) {
  structure_parts<Structure> how;
  how.make = [reclaims, options...](auto& pool) {
    auto made = std::make_unique<Structure>(pool, "subject", options...);
    made->pool_clock().configure({.epoch_length = {}, .buffer = 2, .reclaims = reclaims});
    return made;
  };
  how.memory_bytes = room;
  return how;
}

template <class Structure, class Other, class... Options>
void add_buffered_beside(list& to, const std::string& name, epoch::reclamation reclaims,
                         const Options&... options) {
  using tested = beside_others<Structure, Other>;
  to.push_back({name,
                Structure::policy_type::name(),
                [=] {
                  using enum map_operation;
                  return std::make_unique<buffered_map_subject<tested>>(
                      name, buffered_parts<tested>(reclaims, options...),
                      std::vector<map_operation>{insert, insert, erase, erase, contains});
                },
                three_steps,
                {},
                true});
}

}  // namespace

void add_several_roots(list& to) {
  using enum map_operation;
  add_pool<run_world>(to, "pool_several_roots", {insert, insert, erase, get},
                      {.threads = 3, .operations = 3, .keys = 3, .prefill = 2});
  to.back().blocks = true;
  using table = lockfree::hash_table<number, number, usual_policy, base::default_hash<number>,
                                     poisoning_epochs>;
  add_map_beside<table, stack<poisoning_epochs>>(
      to, "hash_table_beside_others", lockfree::table_options{.buckets = 2, .grows = false});
  using link_free = set_hash<sets::link_free<simulated>, number>;
  add_map_beside<link_free, stack<eager_epochs>>(to, "link_free_hash_beside_others", table_of(2));
  using soft = set_skiplist<sets::soft<simulated>, number>;
  add_map_beside<soft, stack<eager_epochs>>(to, "soft_skiplist_beside_others", towers_everywhere());
  using queue = beside_others<lockfree::michael_scott_queue<number, usual_policy, poisoning_epochs>,
                              stack<poisoning_epochs>>;
  to.push_back({"michael_scott_queue_beside_others",
                usual_policy::name(),
                [] {
                  structure_parts<queue> how;
                  how.memory_bytes = room;
                  return std::make_unique<sequence_subject<queue>>(
                      "michael_scott_queue_beside_others", sequence_oracle::discipline::queue, how);
                },
                {.threads = 2, .operations = 3, .keys = 1, .prefill = 2},
                {},
                true});
  using map = epoch::hash_map<number, number, simulated>;
  const epoch::map_options few{.buckets = 2, .load = 4};
  add_buffered_beside<map, buffered_stack>(to, "epoch_hash_map_beside_others",
                                           epoch::reclamation::tick, few);
  add_buffered_beside<map, buffered_stack>(to, "epoch_hash_map_workers_beside_others",
                                           epoch::reclamation::workers, few);
  using nonblocking =
      epoch::lockfree_hash_map<number, number, simulated, base::default_hash<number>, eager_epochs>;
  add_buffered_beside<nonblocking, stack<eager_epochs>>(to, "epoch_lockfree_map_beside_others",
                                                        epoch::reclamation::tick, table_of(2));
}

}  // namespace outlast::verify::detail
