#include <bench/db_bench/leveldb_like.hpp>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

namespace outlast::bench {
namespace {

struct rocksdb_library {
  using db = rocksdb::DB;
  using iterator = rocksdb::Iterator;
  using batch = rocksdb::WriteBatch;
  using slice = rocksdb::Slice;
  using read_options = rocksdb::ReadOptions;
  using write_options = rocksdb::WriteOptions;
};

class rocksdb_store final : public leveldb_like_store<rocksdb_library> {
 public:
  using leveldb_like_store::leveldb_like_store;

  void compact() override {
    require(db().CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  }
  std::string describe() override { return property("rocksdb.stats"); }
};

rocksdb::Options options_for(const store_settings& settings) {
  rocksdb::Options options;
  options.create_if_missing = true;
  const auto set = [](auto& option, std::int64_t wanted) {
    if (wanted > 0) option = static_cast<std::decay_t<decltype(option)>>(wanted);
  };
  set(options.write_buffer_size, settings.write_buffer_bytes);
  set(options.target_file_size_base, settings.max_file_bytes);
  set(options.max_open_files, settings.open_files);
  if (!settings.compression) options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  set(table.block_size, settings.block_bytes);
  if (settings.cache_bytes >= 0) {
    table.block_cache = rocksdb::NewLRUCache(static_cast<std::size_t>(settings.cache_bytes));
  }
  if (settings.bloom_bits >= 0) {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(settings.bloom_bits));
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

std::unique_ptr<store> open(const store_settings& settings) {
  rocksdb::DB* opened = nullptr;
  require(rocksdb::DB::Open(options_for(settings), settings.directory, &opened));
  return std::make_unique<rocksdb_store>(std::unique_ptr<rocksdb::DB>(opened));
}

void destroy(const store_settings& settings) {
  require(rocksdb::DestroyDB(settings.directory, rocksdb::Options()));
}

}  // namespace

engine rocksdb_engine() {
  return {"rocksdb", "RocksDB " + rocksdb::GetRocksVersionAsString(), open, destroy};
}

}  // namespace outlast::bench
