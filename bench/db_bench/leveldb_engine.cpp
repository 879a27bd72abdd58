#include <bench/db_bench/leveldb_like.hpp>

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

namespace outlast::bench {
namespace {

struct leveldb_library {
  using db = leveldb::DB;
  using iterator = leveldb::Iterator;
  using batch = leveldb::WriteBatch;
  using slice = leveldb::Slice;
  using read_options = leveldb::ReadOptions;
  using write_options = leveldb::WriteOptions;
};

/// What the options point to; outlives the database.
struct leveldb_parts {
  std::unique_ptr<leveldb::Cache> cache;
  std::unique_ptr<const leveldb::FilterPolicy> filter;
};

class leveldb_store final : private leveldb_parts, public leveldb_like_store<leveldb_library> {
 public:
  leveldb_store(leveldb_parts parts, std::unique_ptr<leveldb::DB> open)
      : leveldb_parts(std::move(parts)), leveldb_like_store(std::move(open)) {}

  void compact() override { db().CompactRange(nullptr, nullptr); }
  std::string describe() override { return property("leveldb.stats"); }
};

leveldb::Options options_for(const store_settings& settings, leveldb_parts& parts) {
  leveldb::Options options;
  options.create_if_missing = true;
  const auto set = [](auto& option, std::int64_t wanted) {
    if (wanted > 0) option = static_cast<std::decay_t<decltype(option)>>(wanted);
  };
  set(options.write_buffer_size, settings.write_buffer_bytes);
  set(options.max_file_size, settings.max_file_bytes);
  set(options.block_size, settings.block_bytes);
  set(options.max_open_files, settings.open_files);
  options.reuse_logs = settings.reuse_logs;
  if (!settings.compression) options.compression = leveldb::kNoCompression;
  if (settings.cache_bytes >= 0) {
    parts.cache.reset(leveldb::NewLRUCache(static_cast<std::size_t>(settings.cache_bytes)));
    options.block_cache = parts.cache.get();
  }
  if (settings.bloom_bits >= 0) {
    parts.filter.reset(leveldb::NewBloomFilterPolicy(settings.bloom_bits));
    options.filter_policy = parts.filter.get();
  }
  return options;
}

std::unique_ptr<store> open(const store_settings& settings) {
  leveldb_parts parts;
  const leveldb::Options options = options_for(settings, parts);
  leveldb::DB* opened = nullptr;
  require(leveldb::DB::Open(options, settings.directory, &opened));
  return std::make_unique<leveldb_store>(std::move(parts), std::unique_ptr<leveldb::DB>(opened));
}

void destroy(const store_settings& settings) {
  require(leveldb::DestroyDB(settings.directory, leveldb::Options()));
}

}  // namespace

engine leveldb_engine() {
  return {"leveldb",
          "LevelDB " + std::to_string(leveldb::kMajorVersion) + "." +
              std::to_string(leveldb::kMinorVersion),
          open, destroy};
}

}  // namespace outlast::bench
