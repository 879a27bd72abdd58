// Reads what was there, counts changes, and closes.
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/snapshot.h"

using namespace rocksdb;

int main(int, char** argv) {
  Options options;
  options.create_if_missing = true;
  DB* db = nullptr;
  if (!DB::Open(options, argv[1], &db).ok()) return 1;
  const SequenceNumber first = db->GetLatestSequenceNumber();
  db->Put(WriteOptions(), "key", "old");
  db->Put(WriteOptions(), "other", "x");
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "2");
  batch.Delete("a");
  db->Write(WriteOptions(), &batch);
  std::printf("changes: %d\n", static_cast<int>(db->GetLatestSequenceNumber() - first));
  const Snapshot* before = db->GetSnapshot();
  std::printf("number: %d, time: %d\n",
              before->GetSequenceNumber() == db->GetLatestSequenceNumber(),
              before->GetUnixTime() > 0);
  db->Put(WriteOptions(), "key", "new");
  db->Delete(WriteOptions(), "other");
  ReadOptions then;
  then.snapshot = before;
  std::string value;
  db->Get(then, "key", &value);
  std::printf("then: %s\n", value.c_str());
  db->Get(ReadOptions(), "key", &value);
  std::printf("now: %s\n", value.c_str());
  std::unique_ptr<Iterator> it(db->NewIterator(then));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    std::printf("  %s\n", it->key().ToString().c_str());
  }
  it.reset();
  uint64_t number = 0;
  bool known = db->GetIntProperty("rocksdb.num-snapshots", &number);
  std::printf("snapshots: %d %d\n", known, static_cast<int>(number));
  known = db->GetIntProperty("rocksdb.oldest-snapshot-time", &number);
  std::printf("oldest: %d %d\n", known, static_cast<int64_t>(number) == before->GetUnixTime());
  {
    ManagedSnapshot managed(db);
    db->Put(WriteOptions(), "key", "newest");
    then.snapshot = managed.snapshot();
    db->Get(then, "key", &value);
    std::printf("managed: %s\n", value.c_str());
    db->GetIntProperty("rocksdb.num-snapshots", &number);
    std::printf("snapshots: %d\n", static_cast<int>(number));
  }
  std::printf("close: %s\n", db->Close().IsAborted() ? "Aborted" : "closed");
  db->ReleaseSnapshot(before);
  db->ReleaseSnapshot(nullptr);
  std::printf("close: %d\n", db->Close().ok());
  std::printf("close: %d\n", db->Close().ok());
  delete db;
  return 0;
}
