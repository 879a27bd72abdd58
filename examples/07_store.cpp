// A key-value store with LevelDB's interface. Run it twice: the accounts are still there.
// Kill it in between: no transfer is half done.
#include <outlast/db/checkpoint.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/transaction.hpp>
#include <outlast/db/write_batch.hpp>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

using namespace outlast::db;

// [quote]
Status transfer(DB& accounts, const std::string& from, const std::string& to, int amount) {
  return RunTransaction(&accounts, WriteOptions(), [&](Transaction& all) {
    std::string here;
    std::string there;
    Status status = all.Get(from, &here);
    if (status.ok()) status = all.Get(to, &there);
    if (!status.ok()) return status;
    if (std::stoi(here) < amount) return Status::InvalidArgument(from, "not enough");
    all.Put(from, std::to_string(std::stoi(here) - amount));
    all.Put(to, std::to_string(std::stoi(there) + amount));  // both changes or none
    return status;
  });
}

int sum(DB& accounts) {
  int total = 0;
  const std::unique_ptr<Iterator> at(accounts.NewIterator(ReadOptions()));  // sees one moment
  for (at->SeekToFirst(); at->Valid(); at->Next()) total += std::stoi(at->value().ToString());
  return total;
}
// [/quote]

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "example.store";
  Options options;
  options.create_if_missing = true;
  DB* opened = nullptr;
  if (const Status status = DB::Open(options, name, &opened); !status.ok()) {
    std::cerr << status.ToString() << '\n';
    return 1;
  }
  const std::unique_ptr<DB> db(opened);
  std::string balance;
  if (db->Get(ReadOptions(), "ann", &balance).IsNotFound()) {
    WriteBatch first;
    first.Put("ann", "1000");
    first.Put("bob", "0");
    if (!db->Write(WriteOptions(), &first).ok()) return 1;
  }
  const Status moved = transfer(*db, "ann", "bob", 1);
  std::filesystem::remove_all(name + ".backup");
  if (!moved.ok() || !Checkpoint(db.get(), name + ".backup").ok()) return 1;
  std::cout << sum(*db) << " in all accounts\n";
  return sum(*db) == 1000 && transfer(*db, "bob", "ann", 5000).IsInvalidArgument() ? 0 : 1;
}
