#include <bench/peers/stores.hpp>

#if OUTLAST_BENCH_LEVELDB
#include <leveldb/db.h>
#endif
#if OUTLAST_BENCH_ROCKSDB
#include <rocksdb/db.h>
#endif

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace outlast::bench {
namespace {

/// What LevelDB and RocksDB, whose interfaces are alike, have of a library.
#if OUTLAST_BENCH_LEVELDB
struct leveldb_library {
  using db = leveldb::DB;
  using options = leveldb::Options;
  using iterator = leveldb::Iterator;
  using write_options = leveldb::WriteOptions;
  using read_options = leveldb::ReadOptions;
};
#endif
#if OUTLAST_BENCH_ROCKSDB
struct rocksdb_library {
  using db = rocksdb::DB;
  using options = rocksdb::Options;
  using iterator = rocksdb::Iterator;
  using write_options = rocksdb::WriteOptions;
  using read_options = rocksdb::ReadOptions;
};
#endif

/// A folder that goes with its owner.
class temporary_folder {
 public:
  explicit temporary_folder(const std::filesystem::path& in) : path_(unused_path(in)) {}
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] std::string name() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// A store with its default options.
template <class Library>
class store_subject final : public epoch_subject {
 public:
  store_subject(const map_setup& setup, bool synced)
      : folder_(setup.directory), range_(setup.range) {
    typename Library::options options;
    options.create_if_missing = true;
    typename Library::db* opened = nullptr;
    require(Library::db::Open(options, folder_.name(), &opened));
    db_.reset(opened);
    hand filler(0, setup.value_bytes);
    for (std::uint64_t i = 0; i < range_ / 2; ++i) {
      require(db_->Put(how_, filler.key_of(2 * i + 1), filler.value));
    }
    how_.sync = synced;
  }

  std::uint64_t run(hand& self, const operation_mix& mix, std::uint64_t operations) override {
    for (std::uint64_t i = 0; i < operations; ++i) {
      const std::uint64_t drawn = self.random.below(mix.gets + mix.inserts + mix.removes);
      const std::string& key = self.key_of(self.random.below(range_) + 1);
      if (drawn < mix.gets) {
        std::string value;
        (void)db_->Get(typename Library::read_options(), key, &value);
        self.seen += value.size();
      } else if (drawn < mix.gets + mix.inserts) {
        require(db_->Put(how_, key, self.value));
        ++self.added;
      } else {
        require(db_->Delete(how_, key));
        ++self.taken;
      }
    }
    return operations;
  }
  void run_clock(const epoch::clock_options&) override {}
  void tick() override {}
  void sync() override {
    auto synced = how_;
    synced.sync = true;
    require(db_->Put(synced, "0", ""));
  }
  [[nodiscard]] std::uint64_t now() override { return 0; }
  [[nodiscard]] std::byte* memory() override { return nullptr; }
  /// All of it can be read.
  void check() override {
    const std::unique_ptr<typename Library::iterator> all(
        db_->NewIterator(typename Library::read_options()));
    for (all->SeekToFirst(); all->Valid(); all->Next()) {
    }
    require(all->status());
  }

 private:
  template <class Status>
  static void require(const Status& status) {
    if (!status.ok()) throw std::runtime_error("a store failed: " + status.ToString());
  }

  temporary_folder folder_;
  std::unique_ptr<typename Library::db> db_;
  typename Library::write_options how_;
  std::uint64_t range_;
};

template <class Library>
std::unique_ptr<epoch_subject> make_store(const map_setup& setup, bool synced) {
  return std::make_unique<store_subject<Library>>(setup, synced);
}

}  // namespace

std::vector<store_peer> store_peers() {
  std::vector<store_peer> found;
#if OUTLAST_BENCH_LEVELDB
  found.push_back({"LevelDB", make_store<leveldb_library>});
#endif
#if OUTLAST_BENCH_ROCKSDB
  found.push_back({"RocksDB", make_store<rocksdb_library>});
#endif
  return found;
}

}  // namespace outlast::bench
