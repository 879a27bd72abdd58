// A program that names its column families, of which it has the default one.
#include <cstdio>
#include <string>
#include <vector>

#include "rocksdb/db.h"

using namespace rocksdb;

int main(int, char** argv) {
  const std::string path = argv[1];
  DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  std::vector<std::string> names = {"left"};
  Status s = DB::ListColumnFamilies(options, path, &names);
  std::printf("none yet: %d\n", s.IsPathNotFound());
  std::vector<ColumnFamilyDescriptor> families;
  std::vector<ColumnFamilyHandle*> handles;
  DB* db = nullptr;
  s = DB::Open(options, path, families, &handles, &db);
  std::printf("no family: %d\n", s.IsInvalidArgument());
  families.push_back(ColumnFamilyDescriptor(kDefaultColumnFamilyName, ColumnFamilyOptions()));
  s = DB::Open(options, path, families, &handles, &db);
  std::printf("open: %d, %zu handle\n", s.ok(), handles.size());
  if (!s.ok()) return 1;
  ColumnFamilyHandle* const family = handles[0];
  std::printf("%s %u %s\n", family->GetName().c_str(), family->GetID(),
              family->GetComparator()->Name());
  ColumnFamilyDescriptor described;
  s = family->GetDescriptor(&described);
  std::printf("described: %d %s\n", s.ok(), described.name.c_str());
  std::printf("default: %s\n", db->DefaultColumnFamily()->GetName().c_str());

  s = db->Put(WriteOptions(), family, "a", "1");
  s = db->Put(WriteOptions(), db->DefaultColumnFamily(), "b", "2");
  s = db->Put(WriteOptions(), "c", "3");
  s = db->Delete(WriteOptions(), family, "b");
  s = db->SingleDelete(WriteOptions(), family, "c");
  WriteBatch batch;
  batch.Put(family, "d", "4");
  batch.Delete(family, "nothing");
  batch.Put(db->DefaultColumnFamily(), "e", "5");
  batch.Put("f", "6");
  s = db->Write(WriteOptions(), &batch);
  s = db->DeleteRange(WriteOptions(), family, "f", "g");
  Iterator* it = db->NewIterator(ReadOptions(), family);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    std::printf("  %s = %s\n", it->key().ToString().c_str(), it->value().ToString().c_str());
  }
  delete it;
  std::vector<Iterator*> iterators;
  s = db->NewIterators(ReadOptions(), handles, &iterators);
  std::printf("iterators: %d %zu\n", s.ok(), iterators.size());
  for (Iterator* each : iterators) delete each;
  std::string value;
  std::printf("property: %d\n", db->GetProperty(family, "rocksdb.stats", &value));
  std::printf("flush: %d\n", db->Flush(FlushOptions(), family).ok());
  std::printf("compact: %d\n",
              db->CompactRange(CompactRangeOptions(), family, nullptr, nullptr).ok());
  std::printf("drop: %d\n", db->DropColumnFamily(db->DefaultColumnFamily()).IsInvalidArgument());
  std::printf("destroy default: %d\n",
              db->DestroyColumnFamilyHandle(db->DefaultColumnFamily()).IsInvalidArgument());
  std::printf("destroy: %d\n", db->DestroyColumnFamilyHandle(family).ok());
  delete db;
  s = DB::ListColumnFamilies(options, path, &names);
  std::printf("list: %d %zu %s\n", s.ok(), names.size(), names[0].c_str());
  std::printf("all gone: %d\n", DestroyDB(path, Options(), families).ok());
  return 0;
}
