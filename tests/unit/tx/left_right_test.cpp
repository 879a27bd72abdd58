// Goal: operations of a transaction manager are atomic, undone by exceptions, found again by name,
// and refused where they would break something; whoever opens the wrong thing is told so.
// Method: small objects in a pool file; many threads; pools that are closed, abandoned and damaged.
#include <outlast/domain/file.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/tx/left_right.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace outlast::tx {
namespace {

using D = domain::process;
using manager = left_right<D>;
using pool_file = test::temp_pool<D>;

constexpr options small{.replica_bytes = std::size_t{1} << 20};

struct twelve_bytes {
  std::uint32_t a, b, c;
  friend bool operator==(const twelve_bytes&, const twelve_bytes&) = default;
};

/// Neighbours of all sizes: what is written to one must not touch the next.
struct mixed {
  field<int> number;
  field<int> neighbour;
  field<double> ratio;
  field<bool> flag;
  field<char> letter;
  field<twelve_bytes> wide;
  field<char> last;
};

struct counters {
  std::array<field<std::uint64_t>, 2> of;
};

TEST(LeftRight, keeps_values_of_every_type_in_every_replica) {
  pool_file pool;
  const twelve_bytes wide{1, 2, 3};
  {
    manager all(*pool, "all", small);
    const auto here = all.root<mixed>("mixed");
    // Each batch runs in the other replica: after several, both have been written and repeated.
    for (int i = 1; i <= 4; ++i) {
      all.update(here, [=](mixed& at) {
        at.number = i;
        if (i == 1) at.neighbour = -7;
        at.ratio = i / 3.0;
        at.flag = i % 2 == 0;
        at.letter = static_cast<char>('a' + i);
        if (i == 2) at.wide = wide;
        if (i == 3) at.last = 'z';
      });
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.ratio.get(); }), i / 3.0);
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.neighbour.get(); }), -7);
    }
  }
  for (const bool clean : {false, true}) {
    clean ? pool.close() : pool.abandon();
    pool.open();
    manager all(*pool, "all");
    const auto here = all.root<mixed>("mixed");
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.number.get(); }), 4);
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.letter.get(); }), 'e');
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.wide.get(); }), wide);
      EXPECT_EQ(all.read(here, [](const mixed& at) { return at.last.get(); }), 'z');
      EXPECT_TRUE(all.read(here, [](const mixed& at) { return at.flag.get(); }));
      all.update(here, [](mixed& at) { at.neighbour = at.neighbour; });
    }
  }
}

TEST(LeftRight, takes_back_what_an_operation_did_before_it_threw) {
  pool_file pool;
  manager all(*pool, "all", small);
  const auto here = all.root<counters>("counters");
  all.update(here, [](counters& at) { at.of[0] = 5; });
  const auto fail = [](counters& at) {
    at.of[0] += 1;
    static_cast<void>(alloc_array<field<int>>(1000));
    throw std::runtime_error("changed my mind");
  };
  EXPECT_THROW(all.update(here, fail), std::runtime_error);
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 5U);
  EXPECT_THROW(all.read(here, [](const counters&) { throw std::logic_error("reader"); }),
               std::logic_error);
  all.update(here, [](counters& at) { at.of[1] = 6; });
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0] + at.of[1]; }), 11U);
}

TEST(LeftRight, is_undone_where_there_is_no_room) {
  pool_file pool;
  manager all(*pool, "all", {.replica_bytes = 64 * 1024});
  const auto here = all.root<counters>("counters");
  const auto too_much = [](counters& at) {
    for (;;) {
      at.of[0] += 1;
      static_cast<void>(alloc_bytes(1000));
    }
  };
  EXPECT_THROW(all.update(here, too_much), out_of_space);
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 0U);
  all.update(here, [](counters&) { static_cast<void>(alloc_bytes(30'000)); });
}

TEST(LeftRight, makes_calls_inside_of_an_operation_a_part_of_it) {
  pool_file pool;
  manager all(*pool, "all", small);
  const auto here = all.root<counters>("counters");
  const auto nested = [&](counters& at) {
    at.of[0] = 1;
    all.update(here, [](counters& inner) { inner.of[1] = 2; });
    return all.read(here, [](const counters& inner) { return inner.of[0] + inner.of[1]; });
  };
  EXPECT_EQ(all.update(here, nested), 3U);
  const auto fails = [&](counters&) {
    all.update(here, [](counters& inner) { inner.of[1] = 100; });
    throw std::runtime_error("outer");
  };
  EXPECT_THROW(all.update(here, fails), std::runtime_error);
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[1].get(); }), 2U);
}

TEST(LeftRight, works_on_several_objects_at_once) {
  pool_file pool;
  manager all(*pool, "all", small);
  const auto one = all.root<counters>("one");
  const auto two = all.root<counters>("two");
  all.update([=](view in) {
    in[one].of[0] = 10;
    in[two].of[0] = 20;
  });
  EXPECT_EQ(all.read([=](const_view in) { return in[one].of[0] + in[two].of[0]; }), 30U);
}

TEST(LeftRight, refuses_what_would_break_it) {
  pool_file pool;
  manager all(*pool, "all", small);
  manager other(*pool, "other", small);
  const auto here = all.root<counters>("counters");
  const auto there = other.root<counters>("counters");
  const auto write = [&](const counters&) { all.update(here, [](counters& at) { at.of[0] = 1; }); };
  EXPECT_THROW(all.read(here, write), error);
  const auto cast = [](const counters& at) { const_cast<counters&>(at).of[0] = 1; };
  EXPECT_THROW(all.read(here, cast), error);
  const auto foreign = [&](counters&) { other.update(there, [](counters& at) { at.of[0] = 1; }); };
  EXPECT_THROW(all.update(here, foreign), error);
  EXPECT_THROW(field<int>(5), error) << "outside of a transaction";
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 0U);
}

TEST(LeftRight, finds_objects_by_name_and_type) {
  pool_file pool;
  manager all(*pool, "all", small);
  const auto here = all.root<counters>("counters");
  EXPECT_EQ(all.root<counters>("counters").offset, here.offset);
  EXPECT_NE(all.root<counters>("others").offset, here.offset);
  try {
    static_cast<void>(all.root<mixed>("counters"));
    ADD_FAILURE() << "another type";
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::root_type_mismatch);
    EXPECT_NE(std::string(refused.what()).find(pool.path()), std::string::npos);
  }
  EXPECT_THROW(static_cast<void>(all.root<mixed>("")), error);
  EXPECT_THROW(static_cast<void>(all.root<mixed>(std::string(41, 'n'))), error);
}

TEST(LeftRight, loses_nothing_in_200_threads) {
  pool_file pool;
  manager all(*pool, "all", small);
  const auto here = all.root<counters>("counters");
  constexpr unsigned threads = 200;
  constexpr unsigned rounds = 8;
  std::atomic<bool> differ = false;
  {
    std::vector<std::jthread> crew;
    for (unsigned t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        for (unsigned i = 0; i < rounds; ++i) {
          try {
            all.update(here, [=](counters& at) {
              at.of[0] += 1;
              if (t % 10 == 0) throw i;
              at.of[1] += 1;
            });
          } catch (unsigned) {
          }
          if (!all.read(here, [](const counters& at) { return at.of[0] == at.of[1]; }))
            differ = true;
        }
      });
    }
  }
  EXPECT_FALSE(differ);
  const auto sum = all.read(here, [](const counters& at) { return at.of[0].get(); });
  EXPECT_EQ(sum, threads / 10 * 9 * rounds);
}

TEST(LeftRight, is_opened_once_at_a_time) {
  pool_file pool;
  manager all(*pool, "all", small);
  EXPECT_THROW(manager(*pool, "all"), error);
}

TEST(LeftRight, uses_its_region_again_after_it_was_dropped) {
  pool_file pool;
  {
    manager all(*pool, "all", small);
    const auto here = all.root<counters>("counters");
    all.update(here, [](counters& at) { at.of[0] = 5; });
  }
  pool->drop_root("all");
  manager again(*pool, "all", small);
  const auto here = again.root<counters>("counters");
  EXPECT_EQ(again.read(here, [](const counters& at) { return at.of[0].get(); }), 0U);
}

TEST(LeftRight, grows_in_a_sparse_region) {
  pool_file pool(std::size_t{64} << 20);
  manager all(*pool, "all", {.replica_bytes = std::size_t{16} << 20});
  const auto here = all.root<counters>("counters");
  for (unsigned i = 0; i < 12; ++i) {
    all.update(here, [](counters& at) {
      static_cast<void>(alloc_bytes(1 << 20));
      at.of[0] += 1;
    });
  }
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 12U);
}

TEST(LeftRight, is_found_again_where_the_pool_is_mapped_elsewhere) {
  pool_file pool;
  std::uintptr_t base = 0;
  {
    manager all(*pool, "all", small);
    base = pool->base();
    const auto here = all.root<counters>("counters");
    all.update(here, [](counters& at) { at.of[1] = 77; });
  }
  pool.close();
  pool.options().base_address = base + (std::uintptr_t{1} << 32);
  pool.open();
  ASSERT_NE(pool->base(), base);
  manager all(*pool, "all");
  const auto here = all.root<counters>("counters");
  all.update(here, [](counters& at) { at.of[0] = 1; });
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0] + at.of[1]; }), 78U);
}

TEST(LeftRight, says_that_its_device_failed_and_believes_in_nothing_afterwards) {
  test::temp_directory folder;
  pool_options wanted;
  wanted.per_operation_device_sync = true;
  auto pool = basic_pool<domain::file>::create(folder.file("pool"), wanted);
  left_right<domain::file> all(pool, "all", small);
  const auto here = all.root<counters>("counters");
  const auto add = [](counters& at) { at.of[0] += 1; };
  all.update(here, add);
  domain::file::fail_next_syncs(1, EIO);
  EXPECT_THROW(all.update(here, add), error);
  domain::file::fail_next_syncs(0, 0);
  EXPECT_THROW(all.update(here, add), error);
  EXPECT_EQ(all.read(here, [](const counters& at) { return at.of[0].get(); }), 1U);
}

TEST(LeftRight, refuses_a_disk_on_which_each_update_would_be_a_device_sync) {
  test::temp_directory folder;
  auto pool = basic_pool<domain::file>::create(folder.file("pool"));
  EXPECT_THROW(left_right<domain::file>(pool, "all", small), error);
}

/// A pool file in which something about the manager's header is wrong.
class DamagedHeader : public testing::Test {
 protected:
  DamagedHeader() {
    {
      manager all(*pool_, "all", small);
      static_cast<void>(all.root<counters>("counters"));
    }
    pool_.close();
  }

  /// Changes the record in the file; a right checksum is written behind the change.
  void change(std::size_t offset, std::uint32_t value, bool sealed) {
    std::fstream file(pool_.path(), std::ios::in | std::ios::out | std::ios::binary);
    std::string content(std::filesystem::file_size(pool_.path()), '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    const std::uint64_t magic = detail::manager_record::right_magic;
    const std::size_t at = content.find({reinterpret_cast<const char*>(&magic), sizeof magic});
    ASSERT_NE(at, std::string::npos);
    detail::manager_record found;
    std::memcpy(static_cast<void*>(&found), content.data() + at, 64);
    std::memcpy(reinterpret_cast<char*>(&found) + offset, &value, sizeof value);
    if (sealed) found.checksum = detail::checksum_of(found);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at));
    file.write(reinterpret_cast<const char*>(&found), 64);
  }

  /// What opening it says.
  std::string complaint(errc expected) {
    pool_.open();
    try {
      const manager all(*pool_, "all");
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), expected) << refused.what();
      return refused.what();
    }
    ADD_FAILURE() << "it was opened";
    return "";
  }

  pool_file pool_{std::size_t{8} << 20};
};

TEST_F(DamagedHeader, of_another_engine_is_refused_by_name) {
  change(offsetof(detail::manager_record, engine), 6, true);
  const std::string said = complaint(errc::root_type_mismatch);
  EXPECT_NE(said.find("'all' belong to the engine redo_opt, not to left_right"), std::string::npos)
      << said;
  EXPECT_NE(said.find(pool_.path()), std::string::npos);
}
TEST_F(DamagedHeader, of_a_newer_version_is_refused) {
  change(offsetof(detail::manager_record, version), 99, true);
  EXPECT_NE(complaint(errc::newer_version).find("format 99"), std::string::npos);
}
TEST_F(DamagedHeader, with_a_wrong_checksum_is_refused) {
  change(offsetof(detail::manager_record, page_bytes), 1, false);
  EXPECT_NE(complaint(errc::header_damaged).find("checksum"), std::string::npos);
}
TEST_F(DamagedHeader, without_its_magic_number_is_refused) {
  change(0, 1, true);
  EXPECT_NE(complaint(errc::header_damaged).find("magic"), std::string::npos);
}
TEST_F(DamagedHeader, of_another_size_than_the_region_is_refused) {
  change(offsetof(detail::manager_record, replica_bytes), 4096, true);
  EXPECT_NE(complaint(errc::corrupted).find("region 'tx:all'"), std::string::npos);
}

}  // namespace
}  // namespace outlast::tx
