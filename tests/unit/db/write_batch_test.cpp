// Goal: batches tell what they were given, in order, and find damage.
// Method: a handler that notes calls; bytes cut at each place and changed.
#include <outlast/db/write_batch.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace outlast::db {
namespace {

class teller : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override {
    text += "Put(" + key.ToString() + ", " + value.ToString() + ")";
  }
  void Delete(const Slice& key) override { text += "Delete(" + key.ToString() + ")"; }

  std::string text;
};

std::string told(const WriteBatch& batch) {
  teller to;
  const Status status = batch.Iterate(&to);
  return status.ok() ? to.text : to.text + status.ToString();
}

TEST(WriteBatchTest, tells_its_changes_in_order) {
  WriteBatch batch;
  EXPECT_EQ(told(batch), "");
  batch.Put("a", "1");
  batch.Delete("b");
  batch.Put("a", "");
  batch.Put("", "2");
  EXPECT_EQ(told(batch), "Put(a, 1)Delete(b)Put(a, )Put(, 2)");
  batch.Clear();
  EXPECT_EQ(told(batch), "");
}

TEST(WriteBatchTest, takes_any_bytes_of_any_length) {
  const std::string key("\0\xff\x80", 3);
  const std::string large(300'000, '\x81');
  WriteBatch batch;
  batch.Put(key, large);
  batch.Delete(large);
  EXPECT_EQ(told(batch), "Put(" + key + ", " + large + ")Delete(" + large + ")");
}

TEST(WriteBatchTest, appends_another_one_and_itself) {
  WriteBatch first;
  WriteBatch second;
  first.Append(second);
  EXPECT_EQ(told(first), "");
  second.Put("a", "1");
  first.Append(second);
  second.Delete("c");
  first.Append(second);
  EXPECT_EQ(told(first), "Put(a, 1)Put(a, 1)Delete(c)");
  second.Append(second);
  EXPECT_EQ(told(second), "Put(a, 1)Delete(c)Put(a, 1)Delete(c)");
  const WriteBatch copy = second;
  second.Clear();
  EXPECT_EQ(told(copy), "Put(a, 1)Delete(c)Put(a, 1)Delete(c)");
}

TEST(WriteBatchTest, knows_about_how_large_it_is) {
  WriteBatch batch;
  const std::size_t empty = batch.ApproximateSize();
  batch.Put("key", "value");
  const std::size_t one = batch.ApproximateSize();
  EXPECT_GE(one, empty + 8);
  batch.Delete("key");
  EXPECT_GT(batch.ApproximateSize(), one);
  batch.Clear();
  EXPECT_EQ(batch.ApproximateSize(), empty);
}

TEST(WriteBatchTest, damage_is_reported_wherever_it_is) {
  WriteBatch batch;
  batch.Put("key", std::string(200, 'v'));
  batch.Delete("other");
  const std::string bytes(batch.bytes());
  EXPECT_EQ(told(WriteBatch::from_bytes(bytes)), told(batch));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    teller to;
    EXPECT_TRUE(WriteBatch::from_bytes(bytes.substr(0, length)).Iterate(&to).IsCorruption())
        << "cut to " << length << " bytes";
  }
  teller to;
  EXPECT_TRUE(WriteBatch::from_bytes(bytes + '\0').Iterate(&to).IsCorruption());
  std::string more = bytes;
  ++more[0];
  EXPECT_EQ(WriteBatch::from_bytes(more).Iterate(&to).ToString(),
            "Corruption: a write batch contains 2 changes, and its header states 3");
  const std::string endless = bytes.substr(0, 8) + '\x01' + std::string(12, '\xff');
  EXPECT_TRUE(WriteBatch::from_bytes(endless).Iterate(&to).IsCorruption());
  WriteBatch mended = WriteBatch::from_bytes(bytes.substr(0, 3));
  mended.Append(batch);
  EXPECT_TRUE(mended.Iterate(&to).IsCorruption());
}

TEST(WriteBatchTest, tells_deletions_of_ranges_to_who_knows_them) {
  class range_teller final : public WriteBatch::RangeHandler {
   public:
    void Put(const Slice& key, const Slice& /*value*/) override { told += key.ToString(); }
    void Delete(const Slice& key) override { told += key.ToString(); }
    void DeleteRange(const Slice& begin, const Slice& end) override {
      told += '[' + begin.ToString() + '-' + end.ToString() + ')';
    }
    std::string told;
  };
  WriteBatch batch;
  batch.Put("a", "");
  batch.DeleteRange("b", "d");
  batch.Delete("e");
  range_teller to;
  EXPECT_TRUE(batch.Iterate(&to).ok());
  EXPECT_EQ(to.told, "a[b-d)e");
  teller plain;
  EXPECT_TRUE(batch.Iterate(&plain).IsNotSupportedError());
  const std::string_view bytes = batch.bytes();
  EXPECT_TRUE(
      WriteBatch::from_bytes(bytes.substr(0, bytes.size() - 4)).Iterate(&to).IsCorruption());
}

}  // namespace
}  // namespace outlast::db
