// Goal: a status says what kind of failure it is and why, in the words that users of LevelDB know.
// Method: all kinds, with one sentence, two and none; copies and moves under sanitizers.
#include <outlast/db/status.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace outlast::db {
namespace {

TEST(StatusTest, a_success_is_no_failure) {
  const Status good;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.ToString(), "OK");
  EXPECT_FALSE(good.IsNotFound() || good.IsCorruption() || good.IsIOError() ||
               good.IsNotSupportedError() || good.IsInvalidArgument());
}

TEST(StatusTest, a_failure_says_its_kind_and_its_sentence) {
  EXPECT_TRUE(Status::NotFound("k").IsNotFound());
  EXPECT_TRUE(Status::Corruption("k").IsCorruption());
  EXPECT_TRUE(Status::NotSupported("k").IsNotSupportedError());
  EXPECT_TRUE(Status::InvalidArgument("k").IsInvalidArgument());
  EXPECT_TRUE(Status::IOError("k").IsIOError());
  EXPECT_EQ(Status::NotFound("key").ToString(), "NotFound: key");
  EXPECT_EQ(Status::NotFound("key", "why").ToString(), "NotFound: key: why");
  EXPECT_EQ(Status::Corruption("file", "torn").ToString(), "Corruption: file: torn");
  EXPECT_EQ(Status::NotSupported("newer").ToString(), "Not implemented: newer");
  EXPECT_EQ(Status::InvalidArgument("it").ToString(), "Invalid argument: it");
  EXPECT_EQ(Status::IOError(Slice("a\0b", 3)).ToString(), std::string("IO error: a\0b", 13));
  EXPECT_FALSE(Status::IOError("").ok());
  EXPECT_EQ(Status::IOError("").ToString(), "IO error: ");
}

TEST(StatusTest, copies_say_the_same_and_stay) {
  Status copy;
  {
    const Status first = Status::IOError("disk", "gone");
    copy = first;
    EXPECT_EQ(Status(first).ToString(), first.ToString());
  }
  EXPECT_EQ(copy.ToString(), "IO error: disk: gone");
  Status& same = copy;
  copy = same;
  EXPECT_EQ(copy.ToString(), "IO error: disk: gone");
  Status moved = std::move(copy);
  EXPECT_TRUE(moved.IsIOError());
  moved = Status::OK();
  EXPECT_TRUE(moved.ok());
}

}  // namespace
}  // namespace outlast::db
