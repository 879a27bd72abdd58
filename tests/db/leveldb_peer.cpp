#include <tests/db/leveldb_peer.hpp>

#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <stdexcept>

namespace outlast::test {

namespace {

struct theirs {
  using DB = leveldb::DB;
  using Iterator = leveldb::Iterator;
  using ReadOptions = leveldb::ReadOptions;
  using Snapshot = leveldb::Snapshot;
  using WriteBatch = leveldb::WriteBatch;
  using WriteOptions = leveldb::WriteOptions;
};

class backwards final : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    return b.compare(a);
  }
  const char* Name() const override { return "test.backwards"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

}  // namespace

struct leveldb_peer::inside {
  inside(std::string at, bool is_reversed) : folder(std::move(at)) {
    options.create_if_missing = true;
    if (is_reversed) options.comparator = &order;
    leveldb::DestroyDB(folder, options);
    store = std::make_unique<db_steps::driven<theirs>>(&open, this);
  }

  static std::unique_ptr<leveldb::DB> open(const void* how) {
    const auto& self = *static_cast<const inside*>(how);
    leveldb::DB* opened = nullptr;
    const leveldb::Status status = leveldb::DB::Open(self.options, self.folder, &opened);
    if (!status.ok()) throw std::runtime_error("LevelDB: " + status.ToString());
    return std::unique_ptr<leveldb::DB>(opened);
  }

  std::string folder;
  backwards order;
  leveldb::Options options;
  std::unique_ptr<db_steps::driven<theirs>> store;
};

bool leveldb_peer::is_there() noexcept { return true; }

leveldb_peer::leveldb_peer(const std::string& folder, bool is_reversed,
                           const db_steps::content& from)
    : in_(std::make_unique<inside>(folder, is_reversed)) {
  leveldb::WriteBatch all;
  for (const auto& [key, value] : from) all.Put(key, value);
  const leveldb::Status status = in_->store->store().Write({}, &all);
  if (!status.ok()) throw std::runtime_error("LevelDB: " + status.ToString());
}

leveldb_peer::~leveldb_peer() = default;

std::optional<std::string> leveldb_peer::apply(const db_steps::step& todo) {
  return in_->store->apply(todo);
}

}  // namespace outlast::test
