// Goal: iterators over nothing are nowhere, and all clean up once.
// Method: each member; functions that note their calls.
#include <outlast/db/iterator.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace outlast::db {
namespace {

void note(void* in, void* what) {
  static_cast<std::vector<int>*>(in)->push_back(*static_cast<int*>(what));
}

TEST(IteratorTest, over_nothing_is_nowhere) {
  const std::unique_ptr<Iterator> empty(NewEmptyIterator());
  for (const auto move : {&Iterator::SeekToFirst, &Iterator::SeekToLast}) {
    (empty.get()->*move)();
    EXPECT_FALSE(empty->Valid());
  }
  empty->Seek("a");
  EXPECT_FALSE(empty->Valid());
  EXPECT_TRUE(empty->status().ok());
  const std::unique_ptr<Iterator> failed(NewErrorIterator(Status::Corruption("torn")));
  failed->SeekToFirst();
  EXPECT_FALSE(failed->Valid());
  EXPECT_EQ(failed->status().ToString(), "Corruption: torn");
}

TEST(IteratorTest, cleans_up_once_when_it_goes) {
  std::vector<int> done;
  int one = 1;
  int two = 2;
  int three = 3;
  {
    const std::unique_ptr<Iterator> it(NewEmptyIterator());
    it->RegisterCleanup(note, &done, &one);
    it->RegisterCleanup(note, &done, &two);
    it->RegisterCleanup(note, &done, &three);
    EXPECT_TRUE(done.empty());
  }
  ASSERT_EQ(done.size(), 3U);
  EXPECT_EQ(done[0] + done[1] + done[2], 6);
  EXPECT_NE(done[1], done[2]);
}

}  // namespace
}  // namespace outlast::db
