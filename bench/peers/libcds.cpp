#include <bench/peers/libcds.hpp>

#include <cds/init.h>
#include <cds/urcu/general_buffered.h>

#include <cds/container/ellen_bintree_set_rcu.h>
#include <cds/container/michael_list_rcu.h>
#include <cds/container/skip_list_set_rcu.h>
#include <cds/container/split_list_set_rcu.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace outlast::bench {
namespace {

using rcu = cds::urcu::gc<cds::urcu::general_buffered<>>;

/// Lasts as long as the process: the memory of sets that were destroyed may still wait for readers.
struct library {
  struct initialized {
    initialized() { cds::Initialize(); }
    initialized(const initialized&) = delete;
    initialized& operator=(const initialized&) = delete;
    ~initialized() { cds::Terminate(); }
  };
  initialized first;
  rcu reclaimer;
};

/// What each thread must do before its first operation, and after its last.
class attached_thread {
 public:
  attached_thread() { cds::threading::Manager::attachThread(); }
  ~attached_thread() { cds::threading::Manager::detachThread(); }
  attached_thread(const attached_thread&) = delete;
  attached_thread& operator=(const attached_thread&) = delete;
};

void start_library() { static const library only; }
void attach_this_thread() { thread_local const attached_thread here; }

struct list_traits : cds::container::michael_list::traits {
  using less = std::less<std::uint64_t>;
};
struct table_traits : cds::container::split_list::traits {
  using ordered_list = cds::container::michael_list_tag;
  using ordered_list_traits = list_traits;
  using hash = std::hash<std::uint64_t>;
};
struct skiplist_traits : cds::container::skip_list::traits {
  using less = std::less<std::uint64_t>;
};
struct tree_traits : cds::container::ellen_bintree::traits {
  struct key_extractor {
    void operator()(std::uint64_t& to, std::uint64_t from) const { to = from; }
  };
  using less = std::less<std::uint64_t>;
};

using list = cds::container::MichaelList<rcu, std::uint64_t, list_traits>;
using table = cds::container::SplitListSet<rcu, std::uint64_t, table_traits>;
using skiplist = cds::container::SkipListSet<rcu, std::uint64_t, skiplist_traits>;
using tree = cds::container::EllenBinTreeSet<rcu, std::uint64_t, std::uint64_t, tree_traits>;

template <class Set>
class libcds_adapter {
 public:
  explicit libcds_adapter(const subject_options& options) : range_(options.mix.range()) {
    start_library();
    attach_this_thread();
    if constexpr (std::is_constructible_v<Set, std::size_t, std::size_t>) {
      set_ = std::make_unique<Set>(options.mix.size, 1);
    } else {
      set_ = std::make_unique<Set>();
    }
  }

  bool insert(std::uint64_t key) {
    attach_this_thread();
    return set_->insert(key);
  }
  bool erase(std::uint64_t key) {
    attach_this_thread();
    return set_->erase(key);
  }
  bool contains(std::uint64_t key) {
    attach_this_thread();
    return set_->contains(key);
  }
  [[nodiscard]] std::uint64_t count() {
    std::uint64_t keys = 0;
    for (std::uint64_t key = 0; key < range_; ++key) keys += contains(key) ? 1 : 0;
    return keys;
  }

 private:
  std::uint64_t range_;
  std::unique_ptr<Set> set_;
};

template <class Set>
void add(registry& all, const char* structure) {
  const auto make = [](const subject_options& options) -> std::unique_ptr<subject> {
    return std::make_unique<set_subject<libcds_adapter<Set>>>(options);
  };
  all.add({{structure, "libcds", "process"}, make, {}});
}

}  // namespace

void add_libcds(registry& all) {
  add<list>(all, "harris_list");
  add<table>(all, "hash_table");
  add<tree>(all, "natarajan_tree");
  add<skiplist>(all, "skiplist");
}

}  // namespace outlast::bench
