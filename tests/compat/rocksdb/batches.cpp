// Batches: save points, handlers, parts, limits, copies.
#include <cstdio>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"

using namespace rocksdb;

namespace {

class Printer : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override {
    std::printf("  Put %s %s\n", key.ToString().c_str(), value.ToString().c_str());
  }
  void Delete(const Slice& key) override { std::printf("  Delete %s\n", key.ToString().c_str()); }
  void SingleDelete(const Slice& key) override {
    std::printf("  SingleDelete %s\n", key.ToString().c_str());
  }
  void LogData(const Slice& blob) override {
    std::printf("  LogData %s\n", blob.ToString().c_str());
  }
};

class FamilyPrinter : public WriteBatch::Handler {
 public:
  Status PutCF(uint32_t family, const Slice& key, const Slice&) override {
    std::printf("  PutCF %u %s\n", family, key.ToString().c_str());
    return key == Slice("stop") ? Status::Aborted("stopped") : Status::OK();
  }
  Status DeleteRangeCF(uint32_t family, const Slice& begin, const Slice& end) override {
    std::printf("  DeleteRangeCF %u %s %s\n", family, begin.ToString().c_str(),
                end.ToString().c_str());
    return Status::OK();
  }
  bool Continue() override { return ++changes_ <= 3; }

 private:
  int changes_ = 0;
};

class Nothing : public WriteBatch::Handler {};

}  // namespace

int main(int, char** argv) {
  WriteBatch batch;
  std::printf("no save point: %d %d\n", batch.RollbackToSavePoint().IsNotFound(),
              batch.PopSavePoint().IsNotFound());
  batch.Put("a", "1");
  batch.SetSavePoint();
  batch.Put("b", "2");
  batch.SingleDelete("c");
  batch.PutLogData("note");
  batch.SetSavePoint();
  batch.Delete("d");
  std::printf("count: %d\n", batch.Count());
  Printer printer;
  std::printf("iterate: %d\n", batch.Iterate(&printer).ok());
  std::printf("rollback: %d\n", batch.RollbackToSavePoint().ok());
  std::printf("count: %d\n", batch.Count());
  std::printf("pop: %d\n", batch.PopSavePoint().ok());
  std::printf("count: %d\n", batch.Count());
  std::printf("iterate: %d\n", batch.Iterate(&printer).ok());
  std::printf("has: %d %d %d %d %d\n", batch.HasPut(), batch.HasDelete(), batch.HasSingleDelete(),
              batch.HasDeleteRange(), batch.HasMerge());
  batch.SetSavePoint();
  batch.Clear();
  std::printf("cleared: %d, %d\n", batch.Count(), batch.RollbackToSavePoint().IsNotFound());

  batch.Put("x", "1");
  batch.DeleteRange("y", "z");
  std::printf("range: %s\n", batch.Iterate(&printer).IsInvalidArgument() ? "refused" : "told");
  batch.Put("stop", "");
  batch.Put("unseen", "");
  FamilyPrinter families;
  std::printf("stopped: %d\n", batch.Iterate(&families).IsAborted());
  batch.Clear();
  for (const char* key : {"1", "2", "3", "4", "5"}) batch.Put(key, "");
  FamilyPrinter three;
  std::printf("three of five: %d\n", batch.Iterate(&three).ok());
  Nothing nothing;
  std::printf("nothing: %d\n", batch.Iterate(&nothing).ok());

  const Slice key_parts[] = {"user", "/", "17"};
  const Slice value_parts[] = {"some", "one"};
  batch.Clear();
  batch.Put(SliceParts(key_parts, 3), SliceParts(value_parts, 2));
  batch.Delete(SliceParts(key_parts, 1));
  std::printf("parts: %d\n", batch.Iterate(&printer).ok());
  WriteBatch copy(batch);
  WriteBatch again(std::string(batch.Data()));
  copy.Put("more", "");
  std::printf("copies: %d %d %d\n", batch.Count(), copy.Count(), again.Count());
  again.Iterate(&printer);

  WriteBatch small(0, 60);
  std::printf("fits: %d\n", small.Put("k", "v").ok());
  const Status full = small.Put("k", std::string(100, 'v'));
  std::printf("full: %d %d, count %d\n", full.IsMemoryLimit(), full.IsAborted(), small.Count());

  Options options;
  options.create_if_missing = true;
  DB* db = nullptr;
  if (!DB::Open(options, argv[1], &db).ok()) return 1;
  std::printf("write: %d\n", db->Write(WriteOptions(), &again).ok());
  WriteBatch empty;
  std::printf("empty: %d\n", db->Write(WriteOptions(), &empty).ok());
  std::printf("null: %d\n", db->Write(WriteOptions(), nullptr).IsInvalidArgument());
  std::string value;
  db->Get(ReadOptions(), "user/17", &value);
  std::printf("value: %s\n", value.c_str());
  delete db;
  return 0;
}
