// Goal: a backup is what the store held at one moment, whole or not there. Method: writers keep
// pairs of keys equal while backups are made, on a file system in memory and on a device.
#include <outlast/db/checkpoint.hpp>
#include <outlast/db/comparator.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/memenv.hpp>
#include <outlast/db/write_batch.hpp>
#include <tests/unit/db/stores.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/mount.h>

namespace outlast::db {
namespace {

using test::contents;
using test::opened;
using test::store_place;

class backup : public ::testing::TestWithParam<const char*> {
 protected:
  store_place place_{GetParam()};
};

TEST_P(backup, holds_what_the_store_held) {
  const auto from = opened(place_.at("from"));
  const std::string zeros("\0k\0", 3);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(from->Put({}, "key" + std::to_string(i), std::string(i % 600, 'v')).ok());
  }
  ASSERT_TRUE(from->Put({}, zeros, "").ok());
  ASSERT_TRUE(from->Put({}, "", std::string(3 << 20, 'x')).ok());
  ASSERT_TRUE(from->Delete({}, "key7").ok());
  ASSERT_EQ(Checkpoint(from.get(), place_.at("to")).ToString(), "OK");
  ASSERT_TRUE(from->Put({}, "later", "").ok());
  auto expected = contents(*from);
  expected.erase("later");
  EXPECT_EQ(contents(*opened(place_.at("to"))), expected);
  EXPECT_FALSE(std::filesystem::exists(place_.at("to") + "/store.copied"));
}

TEST_P(backup, is_of_one_moment_while_others_write) {
  const auto from = opened(place_.at("from"));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(from->Put({}, "a" + std::to_string(i), "0").ok());
    ASSERT_TRUE(from->Put({}, "b" + std::to_string(i), "0").ok());
  }
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (int round = 1; !over.load(); ++round) {
      WriteBatch both;
      const std::string which = std::to_string(round * 7 % 200);
      both.Put("a" + which, std::to_string(round));
      both.Put("b" + which, std::to_string(round));
      EXPECT_TRUE(from->Write({}, &both).ok());
    }
  });
  for (int n = 0; n < 4; ++n) {
    ASSERT_EQ(Checkpoint(from.get(), place_.at("to" + std::to_string(n))).ToString(), "OK");
  }
  over.store(true);
  writer.join();
  for (int n = 0; n < 4; ++n) {
    auto held = contents(*opened(place_.at("to" + std::to_string(n))));
    ASSERT_EQ(held.size(), 400u);
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(held["a" + std::to_string(i)], held["b" + std::to_string(i)]);
    }
  }
}

TEST_P(backup, wants_an_empty_directory_and_a_parent) {
  const auto from = opened(place_.at("from"));
  std::filesystem::create_directory(place_.at("to"));
  std::ofstream(place_.at("to") + "/precious") << "data";
  const Status full = Checkpoint(from.get(), place_.at("to"));
  EXPECT_TRUE(full.IsInvalidArgument());
  EXPECT_NE(full.ToString().find("'precious'"), std::string::npos) << full.ToString();
  std::filesystem::remove(place_.at("to") + "/precious");
  EXPECT_TRUE(Checkpoint(from.get(), place_.at("to")).ok());
  EXPECT_TRUE(Checkpoint(from.get(), place_.at("to")).IsInvalidArgument());
  const Status orphan = Checkpoint(from.get(), place_.at("no/where"));
  EXPECT_FALSE(orphan.ok());
  EXPECT_NE(orphan.ToString().find("no/where"), std::string::npos) << orphan.ToString();
  EXPECT_TRUE(Checkpoint(from.get(), place_.at("from")).IsIOError() ||
              Checkpoint(from.get(), place_.at("from")).IsInvalidArgument());
}

TEST_P(backup, takes_the_place_of_one_that_was_interrupted) {
  const auto from = opened(place_.at("from"));
  ASSERT_TRUE(from->Put({}, "key", "value").ok());
  std::filesystem::create_directory(place_.at("to"));
  std::ofstream(place_.at("to") + "/store.copied") << "half of it";
  std::ofstream(place_.at("to") + "/.store.copied.0123abcd.new") << "less of it";
  std::ofstream(place_.at("to") + "/LOCK");
  DB* none = nullptr;
  EXPECT_TRUE(DB::Open(Options(), place_.at("to"), &none).IsInvalidArgument());
  ASSERT_EQ(Checkpoint(from.get(), place_.at("to")).ToString(), "OK");
  EXPECT_FALSE(std::filesystem::exists(place_.at("to") + "/.store.copied.0123abcd.new"));
  EXPECT_EQ(contents(*opened(place_.at("to"))).size(), 1u);
}

TEST_P(backup, tells_how_far_it_is) {
  const auto from = opened(place_.at("from"));
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(from->Put({}, std::to_string(i), std::string(100'000, 'x')).ok());
  }
  std::uint64_t last = 0;
  int calls = 0;
  const auto tell = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GT(done, last);
    EXPECT_EQ(all, 30u);
    last = done;
    ++calls;
  };
  ASSERT_TRUE(Checkpoint(from.get(), place_.at("to"), tell).ok());
  EXPECT_EQ(last, 30u);
  EXPECT_GE(calls, 2);
}

TEST_P(backup, is_cancelled_by_an_exception) {
  const auto from = opened(place_.at("from"));
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(from->Put({}, std::to_string(i), std::string(100'000, 'x')).ok());
  }
  const Status cancelled =
      Checkpoint(from.get(), place_.at("to"), [](std::uint64_t /*done*/, std::uint64_t /*all*/) {
        throw std::runtime_error("the program ends");
      });
  EXPECT_TRUE(cancelled.IsIOError());
  EXPECT_NE(cancelled.ToString().find("the program ends"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(place_.at("to")));
  ASSERT_TRUE(Checkpoint(from.get(), place_.at("to")).ok());
  EXPECT_EQ(contents(*opened(place_.at("to"))).size(), 30u);
}

INSTANTIATE_TEST_SUITE_P(media, backup,
                         ::testing::Values("memory", "disk", "records", "records_on_disk"),
                         [](const auto& of) { return std::string(of.param); });

/// The longer key first.
class by_length final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override {
    if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
    return a.compare(b);
  }
  const char* Name() const override { return "by_length"; }
  void FindShortestSeparator(std::string* /*start*/, const Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}
};

TEST(backup_of_an_order, has_the_same_comparator) {
  const store_place place("memory");
  const by_length order;
  Options options;
  options.create_if_missing = true;
  options.comparator = &order;
  const auto from = opened(place.at("from"), options);
  for (const char* key : {"aa", "b", "ccc"}) ASSERT_TRUE(from->Put({}, key, key).ok());
  ASSERT_TRUE(Checkpoint(from.get(), place.at("to")).ok());
  DB* none = nullptr;
  EXPECT_TRUE(DB::Open(Options(), place.at("to"), &none).IsInvalidArgument());
  const auto to = opened(place.at("to"), options);
  const std::unique_ptr<Iterator> at(to->NewIterator({}));
  at->SeekToFirst();
  ASSERT_TRUE(at->Valid());
  EXPECT_EQ(at->key().ToString(), "ccc");
}

TEST(backup_without_space, leaves_nothing) {
  const store_place place("memory");
  const auto from = opened(place.at("from"));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(from->Put({}, std::to_string(i), std::string(50'000, 'x')).ok());
  }
  std::filesystem::create_directory(place.at("small"));
  if (::mount("tmpfs", place.at("small").c_str(), "tmpfs", 0, "size=8m") != 0) {
    GTEST_SKIP() << "mounting needs privileges";
  }
  const std::string target = place.at("small") + "/to";
  EXPECT_TRUE(Checkpoint(from.get(), target).IsIOError());
  EXPECT_FALSE(std::filesystem::exists(target));
  ::umount(place.at("small").c_str());
  EXPECT_TRUE(Checkpoint(from.get(), place.at("to")).ok());
}

TEST(backup_in_memory, lies_in_the_same_env) {
  const std::unique_ptr<Env> env(NewMemEnv(Env::Default()));
  Options options;
  options.create_if_missing = true;
  options.env = env.get();
  const auto from = opened("/from", options);
  ASSERT_TRUE(from->Put({}, "key", "value").ok());
  ASSERT_EQ(Checkpoint(from.get(), "/to").ToString(), "OK");
  options.create_if_missing = false;
  EXPECT_EQ(contents(*opened("/to", options)).at("key"), "value");
}

}  // namespace
}  // namespace outlast::db
