// Goal: a program that was written for RocksDB does on the store what it did.
// Method: each function of the headers, in a store in memory; RocksDB's documented behaviour.
#include <outlast/compat/rocksdb/db.h>
#include <outlast/compat/rocksdb/utilities/backup_engine.h>
#include <outlast/compat/rocksdb/utilities/checkpoint.h>
#include <outlast/compat/rocksdb/utilities/optimistic_transaction_db.h>
#include <outlast/compat/rocksdb/utilities/transaction_db.h>

#include <gtest/gtest.h>
#include <tests/support/memory_folder.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rocksdb {
namespace {

class RocksdbTest : public ::testing::Test {
 protected:
  RocksdbTest() {
    options.create_if_missing = true;
    options.store.capacity_bytes = std::size_t{64} << 20;
    options.IncreaseParallelism();
    options.OptimizeLevelStyleCompaction();
  }

  void open() {
    DB* opened = nullptr;
    const Status status = DB::Open(options, name, &opened);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db.reset(opened);
  }
  void fill(int keys) {
    open();
    for (int i = 0; i < keys; ++i) {
      ASSERT_TRUE(db->Put(WriteOptions(), key(i), "value " + std::to_string(i)).ok());
    }
  }
  static std::string key(int i) {
    return {static_cast<char>('a' + i / 26 % 26), static_cast<char>('a' + i % 26)};
  }
  std::string get(const std::string& of) const {
    std::string value;
    const Status status = db->Get(ReadOptions(), of, &value);
    return status.ok() ? value : status.IsNotFound() ? "none" : status.ToString();
  }
  std::string all(const ReadOptions& how = {}) const {
    std::string keys;
    const std::unique_ptr<Iterator> at(db->NewIterator(how));
    for (at->SeekToFirst(); at->Valid(); at->Next()) keys += at->key().ToString() + ' ';
    EXPECT_TRUE(at->status().ok());
    return keys;
  }

  outlast::test::scratch_folder directory;
  const std::string name = (directory.path() / "store").string();
  Options options;
  std::unique_ptr<DB> db;
};

TEST_F(RocksdbTest, keeps_what_was_written) {
  fill(3);
  EXPECT_EQ(get("ab"), "value 1");
  EXPECT_TRUE(db->Delete(WriteOptions(), "ab").ok());
  EXPECT_TRUE(db->SingleDelete(WriteOptions(), "ab").ok());
  EXPECT_EQ(get("ab"), "none");
  EXPECT_TRUE(db->Flush(FlushOptions()).ok());
  EXPECT_TRUE(db->CompactRange(CompactRangeOptions(), nullptr, nullptr).ok());
  EXPECT_TRUE(db->Close().ok());
  EXPECT_TRUE(db->Put(WriteOptions(), "a", "b").IsShutdownInProgress());
  EXPECT_TRUE(std::unique_ptr<Iterator>(db->NewIterator({}))->status().IsShutdownInProgress());
  open();
  EXPECT_EQ(all(), "aa ac ");
  db.reset();
  EXPECT_TRUE(DestroyDB(name, options).ok());
  options.create_if_missing = false;
  DB* none = nullptr;
  EXPECT_TRUE(DB::Open(options, name, &none).IsInvalidArgument());
  EXPECT_EQ(none, nullptr);
}

TEST_F(RocksdbTest, deletes_a_range_at_once_with_what_is_in_its_batch) {
  fill(10);
  WriteBatch batch;
  EXPECT_TRUE(batch.Put("ac", "deleted again").ok());
  EXPECT_TRUE(batch.DeleteRange("ab", "af").ok());
  EXPECT_TRUE(batch.Put("ad", "after").ok());
  EXPECT_TRUE(batch.Delete("aj").ok());
  EXPECT_EQ(batch.Count(), 4U);
  EXPECT_TRUE(db->Write(WriteOptions(), &batch).ok());
  EXPECT_EQ(all(), "aa ad af ag ah ai ");
  EXPECT_EQ(get("ad"), "after");
  EXPECT_TRUE(db->DeleteRange(WriteOptions(), "ag", "ag").ok());
  EXPECT_TRUE(db->DeleteRange(WriteOptions(), "z", "a").IsInvalidArgument());
  EXPECT_TRUE(db->DeleteRange(WriteOptions(), "ag", "zz").ok());
  EXPECT_EQ(all(), "aa ad af ");
  batch.Clear();
  EXPECT_EQ(batch.Count(), 0U);
}

TEST_F(RocksdbTest, shows_a_deletion_of_a_range_whole) {
  fill(0);
  constexpr int keys = 100;
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int round = 0; round < 50; ++round) {
      WriteBatch batch;
      EXPECT_TRUE(batch.DeleteRange("a", "z").ok());
      for (int i = 0; i < keys; ++i) EXPECT_TRUE(batch.Put(key(i), std::to_string(round)).ok());
      EXPECT_TRUE(db->Write(WriteOptions(), &batch).ok());
    }
    done = true;
  });
  while (!done) {
    const std::unique_ptr<Iterator> at(db->NewIterator(ReadOptions()));
    int seen = 0;
    std::string first;
    for (at->SeekToFirst(); at->Valid(); at->Next(), ++seen) {
      if (seen == 0) first = at->value().ToString();
      EXPECT_EQ(at->value().ToString(), first);
    }
    EXPECT_TRUE(seen == 0 || seen == keys) << seen;
  }
  writer.join();
}

TEST_F(RocksdbTest, deletes_a_range_in_an_order_of_the_program) {
  options.comparator = ReverseBytewiseComparator();
  fill(5);
  EXPECT_EQ(all(), "ae ad ac ab aa ");
  EXPECT_TRUE(db->DeleteRange(WriteOptions(), "ad", "ab").ok());
  EXPECT_EQ(all(), "ae ab aa ");
}

TEST_F(RocksdbTest, iterates_backward_and_between_bounds) {
  fill(6);
  ASSERT_TRUE(db->Delete(WriteOptions(), "ad").ok());
  const Slice lower = "ab";
  const Slice upper = "af";
  ReadOptions how;
  const auto at_prev = [&](const char* target) {
    const std::unique_ptr<Iterator> at(db->NewIterator(how));
    at->SeekForPrev(target);
    return at->Valid() ? at->key().ToString() : "nowhere";
  };
  EXPECT_EQ(at_prev("ac"), "ac");
  EXPECT_EQ(at_prev("ad"), "ac");
  EXPECT_EQ(at_prev("zz"), "af");
  EXPECT_EQ(at_prev("a"), "nowhere");
  how.iterate_lower_bound = &lower;
  how.iterate_upper_bound = &upper;
  EXPECT_EQ(all(how), "ab ac ae ");
  EXPECT_EQ(at_prev("zz"), "ae");
  EXPECT_EQ(at_prev("aa"), "nowhere");
  const std::unique_ptr<Iterator> at(db->NewIterator(how));
  at->Seek("a");
  EXPECT_EQ(at->key(), Slice("ab"));
  at->Prev();
  EXPECT_FALSE(at->Valid());
  at->SeekToLast();
  EXPECT_EQ(at->key(), Slice("ae"));
  at->Next();
  EXPECT_FALSE(at->Valid());
}

TEST_F(RocksdbTest, reads_several_keys_and_snapshots_of_one_moment) {
  fill(3);
  const Snapshot* const before = db->GetSnapshot();
  ASSERT_TRUE(db->Put(WriteOptions(), "aa", "changed").ok());
  std::vector<std::string> values;
  std::vector<Status> statuses = db->MultiGet(ReadOptions(), {"aa", "none", "ac"}, &values);
  ASSERT_EQ(statuses.size(), 3U);
  EXPECT_TRUE(statuses[0].ok());
  EXPECT_TRUE(statuses[1].IsNotFound());
  EXPECT_EQ(values[0], "changed");
  EXPECT_EQ(values[2], "value 2");
  ReadOptions then;
  then.snapshot = before;
  statuses = db->MultiGet(then, {"aa"}, &values);
  EXPECT_EQ(values[0], "value 0");
  EXPECT_GT(before->GetUnixTime(), 0);
  db->ReleaseSnapshot(before);
}

TEST_F(RocksdbTest, copies_itself) {
  fill(3);
  Checkpoint* made = nullptr;
  ASSERT_TRUE(Checkpoint::Create(db.get(), &made).ok());
  const std::unique_ptr<Checkpoint> checkpoint(made);
  const std::string copy = name + ".copy";
  ASSERT_TRUE(checkpoint->CreateCheckpoint(copy).ok());
  EXPECT_TRUE(checkpoint->CreateCheckpoint(copy).IsInvalidArgument());
  ASSERT_TRUE(db->Put(WriteOptions(), "later", "").ok());
  db.reset();
  DB* opened = nullptr;
  ASSERT_TRUE(DB::Open(options, copy, &opened).ok());
  db.reset(opened);
  EXPECT_EQ(all(), "aa ab ac ");
  EXPECT_TRUE(db->Close().ok());
  EXPECT_TRUE(Checkpoint::Create(db.get(), &made).IsShutdownInProgress());
}

TEST_F(RocksdbTest, answers_properties) {
  fill(3);
  std::uint64_t number = 0;
  EXPECT_TRUE(db->GetIntProperty(DB::Properties::kEstimateNumKeys, &number));
  EXPECT_EQ(number, 3U);
  EXPECT_TRUE(db->GetIntProperty(DB::Properties::kTotalSstFilesSize, &number));
  EXPECT_GT(number, 0U);
  const auto live_data = [&] {
    EXPECT_TRUE(db->GetIntProperty(DB::Properties::kEstimateLiveDataSize, &number));
    return number;
  };
  const std::uint64_t at_first = live_data();
  EXPECT_TRUE(db->Put(WriteOptions(), "large", std::string(100'000, 'v')).ok());
  EXPECT_TRUE(db->Put(WriteOptions(), "small", "value").ok());
  EXPECT_GT(live_data(), at_first + 100'000);
  EXPECT_TRUE(db->Delete(WriteOptions(), "large").ok());
  EXPECT_LT(live_data(), at_first + 50'000);
  EXPECT_TRUE(db->GetIntProperty(DB::Properties::kSizeAllMemTables, &number));
  EXPECT_FALSE(db->GetIntProperty(DB::Properties::kStats, &number));
  EXPECT_FALSE(db->GetIntProperty("no such", &number));
  std::string text;
  EXPECT_TRUE(db->GetProperty("rocksdb.num-files-at-level0", &text));
  EXPECT_EQ(text, "1");
}

TEST_F(RocksdbTest, refuses_what_it_has_not) {
  fill(0);
  EXPECT_TRUE(db->Merge(WriteOptions(), "a", "b").IsNotSupported());
  WriteOptions how;
  how.sync = true;
  how.disableWAL = true;
  EXPECT_TRUE(db->Put(how, "a", "b").IsInvalidArgument());
  EXPECT_EQ(Status(outlast::db::Status::IOError("no space", "of 1 byte")).ToString(),
            "IO error: no space: of 1 byte");
  EXPECT_TRUE(Status(outlast::db::Status::IOError("no space", "of 1 byte")).IsNoSpace());
  EXPECT_EQ(Status::NotFound("a", "b").code(), Status::kNotFound);
  EXPECT_STREQ(Status::Busy("who").getState(), "who");
  EXPECT_EQ(Status::OK(), Status());
}

TEST_F(RocksdbTest, refuses_what_would_be_ignored_in_silence) {
  DB* none = nullptr;
  const auto is_refused = [&](const Options& how) {
    return DB::Open(how, name, &none).IsNotSupported() && none == nullptr;
  };
  struct : CompactionFilter {
    const char* Name() const override { return "filter"; }
  } filter;
  Options how = options;
  how.compaction_filter = &filter;
  EXPECT_TRUE(is_refused(how));
  how = options;
  how.compaction_style = kCompactionStyleFIFO;
  EXPECT_TRUE(is_refused(how));
  how = options;
  EnvWrapper own(Env::Default());
  how.env = &own;
  EXPECT_TRUE(is_refused(how));
  std::vector<ColumnFamilyHandle*> handles;
  EXPECT_TRUE(DB::Open(options, name,
                       {ColumnFamilyDescriptor(kDefaultColumnFamilyName, {}),
                        ColumnFamilyDescriptor("another", {})},
                       &handles, &none)
                  .IsNotSupported());
  open();
  ColumnFamilyHandle* family = db->DefaultColumnFamily();
  EXPECT_TRUE(db->CreateColumnFamily({}, "another", &family).IsNotSupported());
  EXPECT_EQ(family, nullptr);
  EXPECT_TRUE(db->Put(WriteOptions(), nullptr, "a", "b").IsInvalidArgument());
  WriteBatch batch;
  EXPECT_TRUE(batch.Put("kept", "back").ok());
  batch.SetSavePoint();
  EXPECT_TRUE(batch.Merge("a", "b").IsNotSupported());
  EXPECT_TRUE(db->Write(WriteOptions(), &batch).IsNotSupported());
  EXPECT_EQ(get("kept"), "none");
  EXPECT_TRUE(batch.RollbackToSavePoint().ok());
  EXPECT_TRUE(db->Write(WriteOptions(), &batch).ok());
  ReadOptions reading;
  const Slice time = "now";
  reading.timestamp = &time;
  std::string value;
  EXPECT_TRUE(db->Get(reading, "kept", &value).IsInvalidArgument());
  BackupEngine* engine = nullptr;
  EXPECT_TRUE(
      BackupEngine::Open(Env::Default(), BackupEngineOptions(name), &engine).IsNotSupported());
  OptimisticTransactionDB* optimistic = nullptr;
  EXPECT_TRUE(OptimisticTransactionDB::Open(options, name, &optimistic).IsNotSupported());
  TransactionDB* pessimistic = nullptr;
  EXPECT_TRUE(TransactionDB::Open(options, {}, name, &pessimistic).IsNotSupported());
}

TEST_F(RocksdbTest, does_not_close_below_iterators_and_snapshots) {
  fill(2);
  std::unique_ptr<Iterator> at(db->NewIterator({}));
  const Snapshot* const then = db->GetSnapshot();
  EXPECT_TRUE(db->Close().IsAborted());
  db->ReleaseSnapshot(then);
  EXPECT_TRUE(db->Close().IsAborted());
  at->SeekToFirst();
  EXPECT_TRUE(at->Valid());
  EXPECT_EQ(get("aa"), "value 0");
  at.reset();
  EXPECT_TRUE(db->Close().ok());
  EXPECT_TRUE(db->Close().ok());
}

TEST_F(RocksdbTest, has_no_number_that_is_not_true) {
  open();
  std::uint64_t number = 7;
  for (const char* unknown : {"background-errors", "num-live-versions", "block-cache-capacity",
                              "num-entries-active-mem-table", "min-log-number-to-keep"}) {
    EXPECT_FALSE(db->GetIntProperty(std::string("rocksdb.") + unknown, &number)) << unknown;
    EXPECT_EQ(number, 7U);
  }
}

TEST_F(RocksdbTest, opens_into_unique_pointers) {
  EXPECT_TRUE(DB::Open(options, name, &db).ok());
  EXPECT_TRUE(db->Put(WriteOptions(), "a", "b").ok());
  db.reset();
  EXPECT_TRUE(DB::OpenForReadOnly(options, name, &db).ok());
  EXPECT_EQ(get("a"), "b");
  EXPECT_TRUE(db->Put(WriteOptions(), "a", "c").IsNotSupported());
  std::vector<ColumnFamilyHandle*> handles;
  db.reset();
  EXPECT_TRUE(DB::Open(options, name, {ColumnFamilyDescriptor()}, &handles, &db).ok());
  for (ColumnFamilyHandle* each : handles) EXPECT_TRUE(db->DestroyColumnFamilyHandle(each).ok());
}

TEST_F(RocksdbTest, tells_a_batch) {
  struct : WriteBatch::Handler {
    void Put(const Slice& key, const Slice& value) override {
      told += "Put(" + key.ToString() + ", " + value.ToString(true) + ")";
    }
    void Delete(const Slice& key) override { told += "Delete(" + key.ToString() + ")"; }
    void SingleDelete(const Slice& key) override { told += "SingleDelete(" + key.ToString() + ")"; }
    Status DeleteRangeCF(std::uint32_t, const Slice& begin, const Slice& end) override {
      told += "DeleteRange(" + begin.ToString() + ", " + end.ToString() + ")";
      return {};
    }
    std::string told;
  } handler;
  WriteBatch batch;
  EXPECT_TRUE(batch.Put("a", "\x01z").ok());
  EXPECT_TRUE(batch.SingleDelete("b").ok());
  EXPECT_TRUE(batch.DeleteRange("c", "d").ok());
  EXPECT_TRUE(batch.Iterate(&handler).ok());
  EXPECT_EQ(handler.told, "Put(a, 017A)SingleDelete(b)DeleteRange(c, d)");
  EXPECT_GT(batch.GetDataSize(), 8U);
}

}  // namespace
}  // namespace rocksdb
