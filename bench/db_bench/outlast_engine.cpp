#include <bench/db_bench/leveldb_like.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/write_batch.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

namespace outlast::bench {
namespace {

struct outlast_library {
  using db = outlast::db::DB;
  using iterator = outlast::db::Iterator;
  using batch = outlast::db::WriteBatch;
  using slice = outlast::db::Slice;
  using read_options = outlast::db::ReadOptions;
  using write_options = outlast::db::WriteOptions;
};

class outlast_store final : public leveldb_like_store<outlast_library> {
 public:
  using leveldb_like_store::leveldb_like_store;

  void compact() override { db().CompactRange(nullptr, nullptr); }
  std::string describe() override { return property("leveldb.stats"); }
  std::uint64_t data_bytes() override {
    return std::strtoull(property("outlast.data-bytes").c_str(), nullptr, 10);
  }
};

template <db::StoreEngine Engine>
std::unique_ptr<store> open(const store_settings& settings) {
  db::Options options;
  options.create_if_missing = true;
  db::StoreOptions more;
  more.engine = Engine;
  more.replicas = settings.replicas;
  more.capacity_bytes = settings.capacity_bytes;
  if (settings.window_us >= 0)
    more.max_unsynced_time = std::chrono::microseconds(settings.window_us);
  db::DB* opened = nullptr;
  require(db::DB::Open(options, more, settings.directory, &opened));
  return std::make_unique<outlast_store>(std::unique_ptr<db::DB>(opened));
}

void destroy(const store_settings& settings) {
  require(db::DestroyDB(settings.directory, db::Options()));
}

std::string interface() {
  return "interface of LevelDB " + std::to_string(db::kMajorVersion) + "." +
         std::to_string(db::kMinorVersion);
}

}  // namespace

engine outlast_engine() {
  return {"outlast", "Outlast, replicas; " + interface(), open<db::StoreEngine::kReplicas>,
          destroy};
}
engine outlast_records_engine() {
  return {"outlast_records", "Outlast, records; " + interface(), open<db::StoreEngine::kRecords>,
          destroy};
}

}  // namespace outlast::bench
