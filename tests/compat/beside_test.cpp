// Goal: a program may use outlast::db and, in the same process, what was written for LevelDB.
// Method: a store by each, at once; one store by both, one after the other, and at once, which is
// refused.
#include <outlast/db/db.hpp>

#include <gtest/gtest.h>
#include <tests/support/memory_folder.hpp>

#include <cstdlib>
#include <memory>
#include <string>

#include "leveldb/c.h"

namespace {

using outlast::db::DB;

class BesideTest : public ::testing::Test {
 protected:
  BesideTest() {
    ours.create_if_missing = true;
    leveldb_options_set_create_if_missing(theirs, 1);
  }
  ~BesideTest() override {
    leveldb_options_destroy(theirs);
    leveldb_writeoptions_destroy(writes);
    leveldb_readoptions_destroy(reads);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder.path() / name; }
  std::unique_ptr<DB> open_ours(const std::string& name, outlast::db::Status& status) const {
    DB* opened = nullptr;
    status = DB::Open(ours, path(name), &opened);
    return std::unique_ptr<DB>(opened);
  }
  leveldb_t* open_theirs(const std::string& name, bool& fails) const {
    char* error = nullptr;
    leveldb_t* const opened = leveldb_open(theirs, path(name).c_str(), &error);
    fails = error != nullptr;
    leveldb_free(error);
    return opened;
  }
  void put_theirs(leveldb_t* in, const char* value) const {
    char* error = nullptr;
    leveldb_put(in, writes, "key", 3, value, 1, &error);
    EXPECT_EQ(error, nullptr) << error;
  }

  outlast::test::scratch_folder folder;
  outlast::db::Options ours;
  leveldb_options_t* theirs = leveldb_options_create();
  leveldb_writeoptions_t* writes = leveldb_writeoptions_create();
  leveldb_readoptions_t* reads = leveldb_readoptions_create();
};

TEST_F(BesideTest, has_a_store_by_each) {
  outlast::db::Status status;
  bool fails = true;
  const auto a = open_ours("a", status);
  ASSERT_TRUE(status.ok()) << status.ToString();
  leveldb_t* const b = open_theirs("b", fails);
  ASSERT_FALSE(fails);
  put_theirs(b, "1");
  ASSERT_TRUE(a->Put({}, "key", "2").ok());
  std::string value;
  ASSERT_TRUE(a->Get({}, "key", &value).ok());
  EXPECT_EQ(value, "2");
  leveldb_close(b);
}

TEST_F(BesideTest, fails_in_c_without_a_place_for_the_message) {
  leveldb_options_set_cache(theirs, nullptr);
  leveldb_options_set_env(theirs, nullptr);
  EXPECT_EQ(leveldb_open(theirs, path("a").c_str(), nullptr), nullptr);
  leveldb_destroy_db(theirs, path("a").c_str(), nullptr);
  leveldb_repair_db(theirs, path("a").c_str(), nullptr);
  char* error = nullptr;
  leveldb_destroy_db(theirs, path("a").c_str(), &error);
  EXPECT_NE(error, nullptr);
  leveldb_free(error);
}

TEST_F(BesideTest, opens_the_same_store_once_at_a_time) {
  outlast::db::Status status;
  bool fails = true;
  leveldb_t* const first = open_theirs("same", fails);
  ASSERT_FALSE(fails);
  put_theirs(first, "1");
  EXPECT_EQ(open_ours("same", status), nullptr);
  EXPECT_TRUE(status.IsIOError()) << status.ToString();
  put_theirs(first, "2");
  leveldb_close(first);
  const auto second = open_ours("same", status);
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::string value;
  ASSERT_TRUE(second->Get({}, "key", &value).ok());
  EXPECT_EQ(value, "2");
  EXPECT_EQ(open_theirs("same", fails), nullptr);
  EXPECT_TRUE(fails);
}

}  // namespace
