// Goal: with a bound on unsynced time, updates are visible immediately, and become durable
// together, in order and atomically: by sync(), by the sync thread, and at a clean close. The death
// of the process loses nothing, a device that fails leaves the outcome of one commit, and damage of
// durable records is rejected. With a journal one replica is on media. Method: the journal's
// counters, which are exact; a device that stops; threads; pools that are left as a kill leaves
// them.
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/commit_records.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/memory_folder.hpp>
#include <tests/support/whole_file.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace outlast::tx {
namespace {

using D = domain::logged_file;
using pool_of = basic_pool<D>;
using in_process = domain::process;
using manager = redo_opt<D>;
using elsewhere = redo_opt<in_process>;

constexpr pool_options in_pool{
    .size_bytes = 8 << 20, .log_bytes = 1 << 20, .per_operation_device_sync = true};
constexpr options small{.replica_bytes = std::size_t{1} << 20, .replicas = 3};
/// Nothing becomes durable by itself.
constexpr options for_ever{.replica_bytes = std::size_t{1} << 20,
                           .replicas = 3,
                           .max_unsynced_time = std::chrono::hours(1)};

/// Far enough apart for lines of their own.
struct counters {
  std::array<field<std::uint64_t>, 32> of;
  [[nodiscard]] bool are_even() const { return of[0].get() == of[16].get(); }
};
constexpr auto add_one = [](counters& at) {
  at.of[0] += 1;
  at.of[16] += 1;
};
constexpr auto value = [](const counters& at) { return at.of[0].get(); };
constexpr auto are_even = [](const counters& at) { return at.are_even(); };

[[nodiscard]] domain::log_counters counted(const pool_of& pool) {
  return D::counters(reinterpret_cast<const void*>(pool.base()));
}

class Windows : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_.path() / "p").string(); }

  /// What another process would find. Everything is whole.
  [[nodiscard]] std::uint64_t found(const std::string& where) const {
    auto pool = basic_pool<in_process>::open(where);
    elsewhere all(pool, "all");
    const auto here = all.root<counters>("counters");
    EXPECT_TRUE(all.read(here, are_even));
    const std::uint64_t there = all.read(here, value);
    pool.close();
    return there;
  }

 private:
  test::scratch_folder folder_;
};

TEST_F(Windows, are_seen_at_once_become_durable_together_and_survive_a_kill_at_once) {
  {
    auto pool = pool_of::create(path(), in_pool);
    manager all(pool, "all", for_ever);
    const auto here = all.root<counters>("counters");
    all.sync();
    const domain::log_counters before = counted(pool);
    for (std::uint64_t i = 1; i <= 50; ++i) {
      all.update(here, add_one);
      ASSERT_EQ(all.read(here, value), i);
    }
    EXPECT_EQ(counted(pool).batches, before.batches);
    EXPECT_EQ(counted(pool).syncs, before.syncs);
    all.sync();
    EXPECT_EQ(counted(pool).batches, before.batches);
    EXPECT_EQ(counted(pool).syncs, before.syncs + 1);
    all.sync();
    EXPECT_EQ(counted(pool).syncs, before.syncs + 1) << "there was nothing to do";
    for (int i = 0; i < 10; ++i) all.update(here, add_one);
  }  // abandoned: as a kill leaves it
  EXPECT_EQ(found(path()), 60U);
}

TEST_F(Windows, go_round_in_their_log_and_survive_kills_again_and_again) {
  pool_options odd = in_pool;
  odd.size_bytes = 11 << 20;  // no power of two, and no multiple of a record
  std::uint64_t done = 0;
  for (int life = 0; life < 6; ++life) {
    auto pool = pool_of::open_or_create(path(), odd);
    manager all(pool, "all", for_ever);
    const auto here = all.root<counters>("counters");
    ASSERT_EQ(all.read(here, value), done);
    const domain::log_counters before = counted(pool);
    // A record takes 256 bytes or more; 176 KiB are there for them.
    const int steps = life % 2 == 0 ? 3 : 5000;
    for (int i = 0; i < steps; ++i) {
      all.update(here, [i](counters& at) {
        add_one(at);
        if (i % 7 == 0) at.of[24] += 1;
      });
    }
    done += static_cast<std::uint64_t>(steps);
    if (steps > 512) {
      EXPECT_GT(counted(pool).batches, before.batches) << "the home follows";
    }
  }
  EXPECT_EQ(found(path()), done);
}

TEST_F(Windows, may_be_left_out_and_come_back_after_kills) {
  std::uint64_t done = 0;
  for (const bool waits : {true, false, true, true, false, false, true}) {
    auto pool = pool_of::open_or_create(path(), in_pool);
    manager all(pool, "all", waits ? for_ever : small);
    const auto here = all.root<counters>("counters");
    ASSERT_EQ(all.read(here, value), done);
    for (int i = 0; i < 7; ++i) all.update(here, add_one);
    done += 7;
  }
  EXPECT_EQ(found(path()), done);
  EXPECT_EQ(found(path()), done) << "nothing is brought in twice";
}

TEST_F(Windows, leave_nothing_to_whoever_takes_their_name_after_a_drop) {
  {
    auto pool = pool_of::create(path(), in_pool);
    {
      manager all(pool, "all", for_ever);
      const auto here = all.root<counters>("counters");
      for (int i = 0; i < 100; ++i) all.update(here, add_one);
    }
    pool.drop_root("all");
    manager again(pool, "all", small);
    again.update(again.root<counters>("counters"), add_one);
  }
  EXPECT_EQ(found(path()), 1U);
}

TEST_F(Windows, are_durable_at_once_where_the_pool_has_no_room_for_their_log) {
  pool_options tiny = in_pool;
  tiny.size_bytes = std::size_t{1} << 20;
  tiny.capacity_bytes = tiny.size_bytes;
  options all_of_it = for_ever;
  std::uint64_t done = 0;
  {
    auto pool = pool_of::create(path(), tiny);
    // As large as there is room for.
    for (all_of_it.replica_bytes = std::size_t{340} << 10;; all_of_it.replica_bytes -= 4096) {
      try {
        const manager probe(pool, "all", all_of_it);
        break;
      } catch (const out_of_space&) {
      }
    }
    manager all(pool, "all", all_of_it);
    const auto here = all.root<counters>("counters");
    const domain::log_counters before = counted(pool);
    for (; done < 20; ++done) all.update(here, add_one);
    EXPECT_GE(counted(pool).batches, before.batches + 20);
  }
  EXPECT_EQ(found(path()), done);
}

/// What is found of records one of whose bytes was damaged.
class DamagedRecords : public Windows {
 protected:
  /// Ten transitions, of which `synced` are durable, and an end like a kill.
  void leave(int synced) {
    auto pool = pool_of::create(path(), in_pool);
    manager all(pool, "all", for_ever);
    const auto here = all.root<counters>("counters");
    for (int i = 1; i <= 10; ++i) {
      all.update(here, add_one);
      if (i == synced) all.sync();
    }
    const auto log = pool.find_region("tl:all");
    ASSERT_TRUE(log);
    begin_ = static_cast<std::uint64_t>(log->address - reinterpret_cast<std::byte*>(pool.base()));
  }
  /// Spoils a byte of what record `index`, from 0, of the ten is.
  void damage(std::uint64_t index) const { corrupt_bytes(place_of(index) + 150); }
  void damage_start() const { corrupt_bytes(begin_ + 24); }

 private:
  /// The record of creating the root object comes first.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t index) const {
    const std::vector<std::byte> bytes = read_file();
    std::uint64_t at = begin_ + detail::commit_records_offset;
    std::vector<std::uint64_t> places;
    for (;;) {
      detail::commit_record record;
      std::memcpy(&record, &bytes[at], sizeof record);
      if (record.magic != detail::commit_record::right_magic) break;
      places.push_back(at);
      at += detail::record_bytes(record.lines);
    }
    EXPECT_GE(places.size(), 10U);
    return places[places.size() - 10 + index];
  }
  [[nodiscard]] std::vector<std::byte> read_file() const {
    const std::string text = test::whole_file(path());
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
  }
  void corrupt_bytes(std::uint64_t offset) const {
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const char was = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(was ^ 0x20));
  }

  std::uint64_t begin_ = 0;
};

TEST_F(DamagedRecords, are_not_taken_home) {
  auto pool = pool_of::create(path(), in_pool);
  manager all(pool, "all", for_ever);
  const auto here = all.root<counters>("counters");
  all.update(here, add_one);
  all.sync();
  const auto log = pool.find_region("tl:all");
  ASSERT_TRUE(log);
  // Somebody else writes to the file: numbers of lines that no replica has.
  std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
  const auto at =
      static_cast<std::streamoff>(log->address - reinterpret_cast<std::byte*>(pool.base()));
  file.seekp(at + static_cast<std::streamoff>(detail::commit_records_offset) + 64);
  file.write("\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 7);
  file.close();
  EXPECT_THROW(pool.close(), error);
}
TEST_F(DamagedRecords, that_were_not_durable_end_what_is_found) {
  leave(3);
  damage(6);
  EXPECT_EQ(found(path()), 6U);
}
TEST_F(DamagedRecords, that_were_durable_are_refused_and_salvaged) {
  leave(7);
  damage(5);
  try {
    static_cast<void>(found(path()));
    FAIL() << "opened";
  } catch (const error& refusal) {
    EXPECT_EQ(refusal.reason(), errc::corrupted);
    EXPECT_NE(std::string(refusal.what()).find(path()), std::string::npos) << refusal.what();
    EXPECT_NE(std::string(refusal.what()).find("durable"), std::string::npos) << refusal.what();
  }
  pool_options lenient = in_pool;
  lenient.salvage = true;
  auto pool = pool_of::open(path(), lenient);
  manager all(pool, "all", for_ever);
  EXPECT_EQ(all.read(all.root<counters>("counters"), value), 5U);
}
TEST_F(DamagedRecords, whose_start_is_lost_are_refused) {
  leave(7);
  basic_pool<in_process>::open(path()).close();  // the pool's log has the start, too, until then
  damage_start();
  EXPECT_THROW(static_cast<void>(found(path())), error);
}

TEST_F(Windows, end_with_a_clean_close) {
  auto pool = pool_of::create(path(), in_pool);
  {
    manager all(pool, "all", for_ever);
    const auto here = all.root<counters>("counters");
    for (int i = 0; i < 7; ++i) all.update(here, add_one);
  }
  pool.close();
  EXPECT_EQ(found(path()), 7U);
}

TEST_F(Windows, end_by_themselves) {
  auto pool = pool_of::create(path(), in_pool);
  options brief = for_ever;
  brief.max_unsynced_time = std::chrono::milliseconds(1);
  manager all(pool, "all", brief);
  const auto here = all.root<counters>("counters");
  all.update(here, add_one);
  const std::uint64_t last = all.take_last_commit();
  while (all.durable_commit() < last) std::this_thread::yield();
  EXPECT_NE(all.guarantee().find("1000 microseconds"), std::string::npos) << all.guarantee();
}

TEST_F(Windows, end_when_much_waits) {
  pool_options large = in_pool;
  large.size_bytes = std::size_t{128} << 20;
  auto pool = pool_of::create(path(), large);
  options wide = for_ever;
  wide.replica_bytes = std::size_t{32} << 20;
  manager all(pool, "all", wide);
  const auto bytes = all.root<pointer<std::byte>>("bytes");
  constexpr std::size_t block = std::size_t{1} << 20;
  all.update(bytes, [](pointer<std::byte>& at) { at = alloc_bytes(block); });
  const domain::log_counters before = counted(pool);
  for (int i = 0; i < 40; ++i) {  // 640 K lines
    all.update(bytes, [i](pointer<std::byte>& at) {
      const std::vector<std::byte> content(block, static_cast<std::byte>(i));
      write_bytes(at.get(), content.data(), content.size());
    });
  }
  EXPECT_GE(counted(pool).batches, before.batches + 2);
  EXPECT_LE(counted(pool).batches, before.batches + 41) << "at most one for each, and one begun";
  all.sync();
  EXPECT_TRUE(all.read(bytes, [](const pointer<std::byte>& at) {
    return std::all_of(at.get(), at.get() + block, [](std::byte b) { return b == std::byte{39}; });
  }));
}

TEST_F(Windows, are_refused_where_the_session_has_begun_otherwise) {
  auto pool = pool_of::create(path(), in_pool);
  {
    const manager strict(pool, "strict", small);
  }
  EXPECT_THROW(manager(pool, "strict", for_ever), error);
  {
    manager again(pool, "strict", small);
  }
  {
    const manager waiting(pool, "waiting", for_ever);
  }
  EXPECT_THROW(manager(pool, "waiting", small), error);
  options shorter = for_ever;
  shorter.max_unsynced_time = std::chrono::minutes(1);
  manager again(pool, "waiting", shorter);
  const auto here = again.root<counters>("counters");
  EXPECT_THROW(again.update(here, [&again](counters&) { again.sync(); }), error);
  again.update(here, add_one);
  EXPECT_EQ(again.read(here, value), 1U);
}

TEST_F(Windows, are_synced_by_several_threads_at_once) {
  constexpr unsigned threads = 4;
  constexpr unsigned each = 200;
  {
    auto pool = pool_of::create(path(), in_pool);
    options brief = for_ever;
    brief.max_unsynced_time = std::chrono::microseconds(200);
    manager all(pool, "all", brief);
    const auto here = all.root<counters>("counters");
    std::vector<std::thread> crew;
    for (unsigned i = 0; i < threads; ++i) {
      crew.emplace_back([&] {
        for (unsigned n = 0; n < each; ++n) {
          all.update(here, add_one);
          const std::uint64_t mine = all.take_last_commit();
          if (n % 2 == 0) {
            all.sync();
            EXPECT_GE(all.durable_commit(), mine);
          }
          EXPECT_TRUE(all.read(here, are_even));
        }
      });
    }
    for (std::thread& one : crew) one.join();
    all.sync();
  }
  EXPECT_EQ(found(path()), threads * each);
}

TEST_F(Windows, survive_a_device_that_fails_at_any_step) {
  pool_options tiny = in_pool;
  tiny.log_bytes = 16 << 10;  // checkpoints are frequent
  {
    auto pool = pool_of::create(path(), tiny);
    manager all(pool, "all", for_ever);
    all.update(all.root<counters>("counters"), add_one);
    pool.close();
  }
  std::uint64_t before = 1;
  for (std::uint64_t allowed = 0;; ++allowed) {
    std::uint64_t done = before;
    std::uint64_t synced = before;
    bool survived = false;
    {
      const test::failing_device device(allowed);
      try {
        auto pool = pool_of::open(path(), tiny);
        manager all(pool, "all", for_ever);
        const auto here = all.root<counters>("counters");
        try {
          for (int i = 0; i < 12; ++i) {
            all.update(here, add_one);
            ++done;
            if (i % 3 != 1) continue;
            all.sync();
            synced = done;
          }
        } catch (const error& failure) {
          EXPECT_EQ(failure.reason(), errc::io_failure);
          EXPECT_THROW(all.update(here, add_one), error);
          EXPECT_THROW(all.sync(), error);
        }
      } catch (const error& failure) {
        EXPECT_EQ(failure.reason(), errc::io_failure) << failure.what();
      }
      survived = device.steps <= allowed;
    }
    const std::uint64_t now = found(path());
    ASSERT_TRUE(synced <= now && now <= done)
        << now << ", not from " << synced << " to " << done << " after " << allowed << " steps";
    before = now;
    if (survived) break;
  }
}

/// What the file of `path` takes of its file system.
[[nodiscard]] std::uint64_t space_of(const std::string& path) {
  struct stat found{};
  EXPECT_EQ(::stat(path.c_str(), &found), 0);
  return static_cast<std::uint64_t>(found.st_blocks) * 512;
}

constexpr std::size_t much = std::size_t{4} << 20;

/// Fills `much` bytes with `content`.
template <class Manager>
void fill(Manager& all, std::byte content) {
  const auto bytes = all.template root<pointer<std::byte>>("bytes");
  all.update(bytes, [content](pointer<std::byte>& at) {
    if (at == nullptr) at = alloc_bytes(much);
    const std::vector<std::byte> all_of_it(much, content);
    write_bytes(at.get(), all_of_it.data(), all_of_it.size());
  });
}
template <class Manager>
[[nodiscard]] bool is_full_of(Manager& all, std::byte content) {
  const auto bytes = all.template root<pointer<std::byte>>("bytes");
  return all.read(bytes, [content](const pointer<std::byte>& at) {
    bool same = true;
    for (std::size_t i = 0; i < much; ++i) same = same && at.get()[i] == content;
    return same;
  });
}

constexpr pool_options roomy{
    .size_bytes = 64 << 20, .log_bytes = 1 << 20, .per_operation_device_sync = true};
constexpr options of_four{.replica_bytes = std::size_t{8} << 20, .replicas = 4};
constexpr options for_ever_of_four{.replica_bytes = std::size_t{8} << 20,
                                   .replicas = 4,
                                   .max_unsynced_time = std::chrono::hours(1)};

TEST_F(Windows, lie_in_one_replica_on_media_whatever_their_number) {
  {
    auto pool = pool_of::create(path(), roomy);
    manager all(pool, "all", of_four);
    const std::uint64_t before = space_of(path());
    for (int i = 1; i <= 9; ++i) fill(all, static_cast<std::byte>(i));
    EXPECT_LT(space_of(path()) - before, 2 * much);
    pool.close();
  }
  {
    auto pool = basic_pool<in_process>::open(path(), roomy);
    elsewhere all(pool, "all");
    EXPECT_TRUE(is_full_of(all, std::byte{9}));
    for (int i = 1; i <= 9; ++i) fill(all, static_cast<std::byte>(10 + i));
    EXPECT_TRUE(is_full_of(all, std::byte{19}));
    pool.close();
  }
  auto pool = pool_of::open(path(), roomy);
  manager all(pool, "all", for_ever);
  EXPECT_TRUE(is_full_of(all, std::byte{19}));
  for (int i = 1; i <= 9; ++i) fill(all, static_cast<std::byte>(20 + i));
  EXPECT_TRUE(is_full_of(all, std::byte{29}));
}

TEST_F(Windows, leave_a_file_without_what_it_need_not_have) {
  std::uint64_t open = 0;
  for (int life = 0; life < 3; ++life) {
    auto pool = pool_of::open_or_create(path(), roomy);
    manager all(pool, "all", for_ever_of_four);
    fill(all, static_cast<std::byte>(life));
    const auto here = all.root<counters>("counters");
    for (int i = 0; i < 3000; ++i) all.update(here, add_one);  // more than goes round in the log
    open = space_of(path());
    pool.close();
    EXPECT_LE(space_of(path()), open - (std::uint64_t{1} << 20));
  }
  auto pool = pool_of::open(path(), roomy);
  manager all(pool, "all", for_ever_of_four);
  EXPECT_TRUE(is_full_of(all, std::byte{2}));
  EXPECT_EQ(all.read(all.root<counters>("counters"), value), 9000U);
}

TEST_F(Windows, are_allowed_where_all_replicas_are_on_media) {
  for (const bool clean : {true, false}) {
    const std::string where = path() + (clean ? "clean" : "killed");
    {
      auto pool = basic_pool<in_process>::create(where, roomy);
      elsewhere all(pool, "all", of_four);
      for (int i = 1; i <= 9; ++i) fill(all, static_cast<std::byte>(i));
      pool.close();
    }
    {
      auto pool = pool_of::open(where, roomy);
      manager all(pool, "all", of_four);
      EXPECT_TRUE(is_full_of(all, std::byte{9}));
      fill(all, std::byte{10});
      if (clean) pool.close();
    }
    auto pool = basic_pool<in_process>::open(where, roomy);
    elsewhere all(pool, "all");
    EXPECT_TRUE(is_full_of(all, std::byte{10}));
    for (int i = 1; i <= 9; ++i) fill(all, static_cast<std::byte>(10 + i));
    EXPECT_TRUE(is_full_of(all, std::byte{19}));
  }
}

}  // namespace
}  // namespace outlast::tx
