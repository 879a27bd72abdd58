// Goal: after a failed sync, whose pages the kernel marks clean, the next opener of the same boot
// acknowledges only operations that are on the media. Method: a disk rejects the pages of one sync,
// of each in turn, and then works again. A second opener acknowledges one insertion, power is cut,
// and all acknowledged operations are present.
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/domain.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/sets/basic_hash.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/failing_disk.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using domain::file;
using pool_type = basic_pool<file>;
using key = std::uint64_t;

/// A node of it has pages that no other node has.
struct wide {
  std::array<std::uint64_t, 600> words{};
  wide() = default;
  wide(std::uint64_t first) { words[0] = first; }
};

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, file>;
using hashed = durable::flit<durable::tag::hashed<durable::smallest_tag_table_bytes>,
                             durable::automatic, file>;

template <class Structure>
struct attached {
  explicit attached(pool_type& pool) : structure(pool, "subject") {}
  void insert(key k) { (void)structure.insert(k, k); }
  [[nodiscard]] bool holds(key k) { return structure.contains(k); }
  Structure structure;
};

struct wide_list : attached<lockfree::harris_list<key, wide, hashed>> {
  using attached::attached;
};
struct table : attached<lockfree::hash_table<key, key, hashed>> {
  using attached::attached;
};
struct wide_tree : attached<lockfree::natarajan_tree<key, wide, adjacent>> {
  using attached::attached;
};
struct set : attached<sets::basic_hash<sets::link_free<file>, key, wide>> {
  using attached::attached;
};
struct transactions
    : attached<containers::managed_map<tx::redo_opt<file>, containers::red_black_tree<key, key>>> {
  using attached::attached;
};
struct epochs : attached<epoch::hash_map<key, wide, file>> {
  using attached::attached;
  void insert(key k) {
    attached::insert(k);
    structure.sync();
  }
};

template <class Subject>
class FailedSync : public testing::Test {
 protected:
  static constexpr key last = 150;
  static constexpr key between = 15;
  static constexpr key later = 17;

  FailedSync() {
    options_.size_bytes = options_.capacity_bytes = std::size_t{2} << 20;
    options_.base_address = 0x5521'0000'0000;
    options_.per_operation_device_sync = true;
  }

  void TearDown() override { pool_detail::test_hooks() = {}; }

  void create() {
    std::filesystem::remove(path_);
    pool_type::create(path_, options_).close();
  }

  /// Opens the pool, as another process would, and abandons it.
  template <class Work>
  void run_incarnation(Work&& work) {
    pool_type pool = pool_type::open(path_, options_);
    Subject subject(pool);
    work(subject);
  }

  /// What is missing after the power cut, of `acknowledged`.
  std::string missing(failing_disk& disk, const std::vector<key>& acknowledged) {
    disk.cut_power();
    disk.opened_again();
    std::string text;
    pool_format::boot_id another{};
    another.fill(7);
    pool_detail::test_hooks().boot = another;
    run_incarnation([&](Subject& subject) {
      for (const key each : acknowledged) {
        if (!subject.holds(each)) text += std::to_string(each) + " is lost; ";
      }
    });
    pool_detail::test_hooks().boot.reset();
    return text;
  }

  /// Insertions, of which the last meets `trouble`, and is acknowledged or not.
  std::vector<key> first_life(const std::function<void()>& trouble) {
    std::vector<key> acknowledged;
    run_incarnation([&](Subject& subject) {
      for (key k = 10; k <= last; k += 10) {
        subject.insert(k);
        acknowledged.push_back(k);
      }
      trouble();
      try {
        subject.insert(between);
        acknowledged.push_back(between);
      } catch (const error& failure) {
        EXPECT_EQ(failure.reason(), errc::io_failure);
      }
    });
    return acknowledged;
  }

  void second_life(failing_disk& disk, std::vector<key> acknowledged) {
    disk.heal();
    disk.opened_again();
    run_incarnation([&](Subject& subject) {
      subject.insert(later);
      acknowledged.push_back(later);
    });
    EXPECT_EQ(missing(disk, acknowledged), "");
  }

  /// Refuses what the sync number `which` of an insertion writes. False if it has not so many.
  bool lose_one(std::uint64_t which, int error_number, bool can_be_read = true) {
    SCOPED_TRACE("sync " + std::to_string(which));
    create();
    failing_disk disk(path_, can_be_read);
    const std::vector<key> acknowledged = first_life([&] { disk.fail_after(which, error_number); });
    if (!disk.has_failed()) return false;
    second_life(disk, acknowledged);
    return true;
  }

  /// The process is killed in that sync, and the device refuses what it left to the kernel.
  bool lose_what_a_kill_left(std::uint64_t which) {
    SCOPED_TRACE("killed in sync " + std::to_string(which));
    create();
    failing_disk disk(path_, which % 2 == 0);
    const std::vector<key> acknowledged = first_life([&] { disk.die_after(which); });
    if (!disk.has_died()) return false;
    disk.heal();
    disk.refuse_write_back();
    second_life(disk, acknowledged);
    return true;
  }

  scratch_folder folder_;
  std::string path_ = (folder_.path() / "pool").string();
  pool_options options_;
};

using subjects = testing::Types<wide_list, table, wide_tree, set, transactions, epochs>;
TYPED_TEST_SUITE(FailedSync, subjects);

TYPED_TEST(FailedSync, is_not_built_upon_by_the_next_opener) {
  std::uint64_t failed = 0;
  while (this->lose_one(failed, EIO)) ++failed;
  EXPECT_GE(failed, 1u);
}

TYPED_TEST(FailedSync, is_not_built_upon_where_nobody_can_read_past_the_cache) {
  std::uint64_t failed = 0;
  while (this->lose_one(failed, EIO, false)) ++failed;
  EXPECT_GE(failed, 1u);
}

TYPED_TEST(FailedSync, of_a_full_device_is_not_built_upon_by_the_next_opener) {
  EXPECT_TRUE(this->lose_one(0, ENOSPC));
}

TYPED_TEST(FailedSync, that_was_reported_to_no_process_is_not_built_upon) {
  std::uint64_t killed = 0;
  while (this->lose_what_a_kill_left(killed)) ++killed;
  EXPECT_GE(killed, 1u);
}

/// A pool of domain::process, whose close makes everything durable on the device.
TEST(FailedClose, is_made_good_by_the_next_one) {
  using processes = basic_pool<domain::process>;
  const scratch_folder folder;
  const std::string path = (folder.path() / "pool").string();
  const pool_options small{.size_bytes = 1 << 20, .capacity_bytes = 1 << 20};
  processes::create(path, small).close();
  pool_detail::test_hooks().file_system = EXT4_SUPER_MAGIC;
  const auto word_of = [](processes& pool) {
    auto& pages = pool.pages();
    return static_cast<std::uint64_t*>(pages.address_of(pages.limit() - 1));
  };
  std::uint64_t stored_again = 0;
  {
    processes pool = processes::open(path, small);
    *word_of(pool) = 42;
    int syncs = 0;
    pool_detail::test_hooks().on_sync = [&] { return ++syncs == 1 ? EIO : 0; };
    EXPECT_THROW(pool.close(), error);
  }
  {
    pool_detail::test_hooks().on_sync = nullptr;
    processes pool = processes::open(path, small);
    EXPECT_TRUE(pool.was_dirty());
    pool_detail::test_hooks().on_store_again = [&](std::uint64_t offset) {
      const auto at = reinterpret_cast<std::uintptr_t>(word_of(pool)) - pool.base();
      if (offset == at) ++stored_again;
    };
    pool.close();
  }
  pool_detail::test_hooks() = {};
  EXPECT_EQ(stored_again, 1u);
}

}  // namespace
}  // namespace outlast::test
