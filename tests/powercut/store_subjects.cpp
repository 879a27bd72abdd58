#include <tests/powercut/kill_subjects.hpp>

#include <outlast/db/db.hpp>
#include <outlast/db/write_batch.hpp>
#include <outlast/pool/file/test_hooks.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outlast::test::powercut {
namespace {

/// A store as its users have it, its keys and values numbers in strings of several lengths.
class store_subject final : public subject {
 public:
  /// `syncs`: each write is durable at return on a disk.
  /// `keeps_index`: the index of a store of records outlives the process.
  store_subject(const std::filesystem::path& folder, bool on_disk, bool syncs,
                db::StoreEngine engine, bool keeps_index)
      : has_records_(engine == db::StoreEngine::kRecords) {
    pool_detail::test_hooks().everything_is_a_disk = on_disk;
    pool_detail::test_hooks().index_directory = folder.string();  // it goes with the folder
    synced_.sync = syncs;
    db::Options options;
    options.create_if_missing = true;
    options.paranoid_checks = !keeps_index;  // which make a new index
    db::StoreOptions more;
    more.max_unsynced_time = std::chrono::hours(1);
    more.capacity_bytes = std::size_t{16} << 20;
    more.replicas = 3;
    more.engine = engine;
    more.keep_index = keeps_index;
    db::DB* opened = nullptr;
    require(db::DB::Open(options, more, folder.string(), &opened));
    store_.reset(opened);
  }

  operation draw(std::uint32_t thread, random_source& random) override {
    constexpr std::uint64_t keys = 200;
    constexpr std::uint64_t stride = 8;  // keys of thread t are t, t + 8, ...
    const std::uint64_t key = random() % keys * stride + thread;
    if (random() % 3 == 0) return {erase, key, 0};
    return {put, key, random()};
  }

  void apply(operation& todo) override {
    if (todo.value % 16 == 1) return apply_in_a_batch(todo);
    if (todo.what == erase) return require(store_->Delete(synced_, text_of(todo.key)));
    require(store_->Put(synced_, text_of(todo.key), text_of(todo.value)));
    // Snapshots come and go: pages are copied, and given back.
    if (todo.value % 16 == 2) store_->ReleaseSnapshot(store_->GetSnapshot());
    // Records move, and tombstones go.
    if (has_records_ && todo.value % 256 == 3) store_->CompactRange(nullptr, nullptr);
  }

  void list(const std::function<void(entry)>& show) override {
    db::ReadOptions verified;
    verified.verify_checksums = true;
    const std::unique_ptr<db::Iterator> at(store_->NewIterator(verified));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      show({number_in(at->key().view()), number_in(at->value().view())});
    }
    require(at->status());
  }

  void close() override { store_.reset(); }

 private:
  /// What is between the first and the last change of a batch is never seen.
  void apply_in_a_batch(const operation& todo) {
    db::WriteBatch batch;
    batch.Put(text_of(todo.key), text_of(~todo.value));
    batch.Delete(text_of(todo.key));
    batch.Put(text_of(todo.key), text_of(todo.value));
    require(store_->Write(synced_, &batch));
  }
  static void require(const db::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }

  /// 8 bytes of the number, and as many more as it says.
  static std::string text_of(std::uint64_t number) {
    std::string text(8 + number % 200, static_cast<char>(number));
    std::memcpy(text.data(), &number, sizeof number);
    return text;
  }
  static std::uint64_t number_in(std::string_view text) {
    std::uint64_t number = 0;
    if (text.size() < sizeof number) return 0xbad;
    std::memcpy(&number, text.data(), sizeof number);
    return text == text_of(number) ? number : 0xbad;
  }

  bool has_records_;
  db::WriteOptions synced_;
  std::unique_ptr<db::DB> store_;
};

constexpr auto records = db::StoreEngine::kRecords;

definition define_store(const std::string& name, bool on_disk, bool syncs,
                        db::StoreEngine engine = db::StoreEngine::kReplicas,
                        bool keeps_index = false) {
  definition made;
  made.name = made.structure = name;
  made.policy = engine == records ? on_disk ? "records on file" : "records"
                : on_disk         ? "redo_opt on logged_file"
                                  : "redo_opt on native";
  made.open = [=](const std::filesystem::path& folder) {
    return std::make_unique<store_subject>(folder, on_disk, syncs, engine, keeps_index);
  };
  return made;
}

}  // namespace

std::vector<definition> store_definitions() {
  return {define_store("store", false, false),
          define_store("store_synced", true, true),
          define_store("store_of_records", false, false, records),
          define_store("store_of_records_synced", true, true, records),
          define_store("store_of_records_window", true, false, records),
          define_store("store_with_index", false, false, records, true),
          define_store("store_with_index_window", true, false, records, true)};
}

}  // namespace outlast::test::powercut
