// Stores: on a file system in memory, or on a disk.
#include <tests/ends/subject.hpp>

#include <outlast/db/db.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/write_batch.hpp>
#include <outlast/pool/file/test_hooks.hpp>

#include <cstdlib>
#include <stdexcept>

namespace outlast::test::ends {
namespace {

class store_subject final : public subject {
 public:
  store_subject(bool on_disk, db::StoreEngine engine) : on_disk_(on_disk), engine_(engine) {}

  void open(const std::string& path, bool make, std::uintptr_t) override {
    pool_detail::test_hooks().everything_is_a_disk = on_disk_;
    db::Options options;
    options.create_if_missing = make;
    db::StoreOptions more;
    more.capacity_bytes = std::size_t{2} << 20;
    more.engine = engine_;
    db::DB* opened = nullptr;
    require(db::DB::Open(options, more, path, &opened));
    in_.reset(opened);
    // Used in the child of a fork, too.
    at_.reset(in_->NewIterator({}));
  }
  void put(u64 key, u64 value) override {
    require(in_->Put({}, std::to_string(key), std::to_string(value)));
  }
  std::optional<u64> get(u64 key) override {
    std::string value;
    const db::Status status = in_->Get({}, std::to_string(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    require(status);
    return std::stoull(value);
  }
  void close() override {
    at_.reset();
    in_.reset();
  }

  std::vector<public_call> calls() override {
    const auto fails = [](const db::Status& status) { return !status.ok(); };
    return {
        {"Put", [=, this] { return fails(in_->Put({}, "1", "1")); }},
        {"Put, synced", [=, this] { return fails(in_->Put(synced(), "1", "1")); }},
        {"Delete", [=, this] { return fails(in_->Delete({}, "1")); }},
        {"Write",
         [=, this] {
           db::WriteBatch batch;
           batch.Put("1", "1");
           return fails(in_->Write({}, &batch));
         }},
        {"Get",
         [=, this] {
           std::string value;
           return fails(in_->Get({}, "1", &value));
         }},
        {"an iterator of before",
         [=, this] {
           at_->SeekToFirst();
           return !at_->Valid() && fails(at_->status());
         }},
        {"NewIterator",
         [=, this] {
           const std::unique_ptr<db::Iterator> made(in_->NewIterator({}));
           made->SeekToFirst();
           return !made->Valid() && fails(made->status());
         }},
        {"GetSnapshot", [this] { return in_->ReleaseSnapshot(in_->GetSnapshot()), true; }},
        {"GetProperty",
         [this] {
           std::string value;
           return !in_->GetProperty("outlast.keys", &value);
         }},
        {"CompactRange", [this] { return in_->CompactRange(nullptr, nullptr), true; }},
        {"delete", [this] { return close(), true; }},
    };
  }

 private:
  static db::WriteOptions synced() {
    db::WriteOptions made;
    made.sync = true;
    return made;
  }
  static void require(const db::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }

  bool on_disk_;
  db::StoreEngine engine_;
  std::unique_ptr<db::DB> in_;
  std::unique_ptr<db::Iterator> at_;
};

}  // namespace

std::unique_ptr<subject> make_store(std::string_view domain) {
  if (domain == "adr") ::setenv("OUTLAST_DOMAIN", "adr", 1);
  if (domain == "process" || domain == "file") return nullptr;
  return std::make_unique<store_subject>(domain == "logged_file", db::StoreEngine::kReplicas);
}
std::unique_ptr<subject> make_records(std::string_view domain) {
  if (domain == "adr") ::setenv("OUTLAST_DOMAIN", "adr", 1);
  if (domain == "process" || domain == "logged_file") return nullptr;
  return std::make_unique<store_subject>(domain == "file", db::StoreEngine::kRecords);
}

std::unique_ptr<subject> make_subject(std::string_view family, std::string_view domain) {
  if (family == "pool") return make_pool(domain);
  if (family == "table") return make_table(domain);
  if (family == "set") return make_set(domain);
  if (family == "map") return make_map(domain);
  if (family == "tx") return make_transactions(domain);
  if (family == "store") return make_store(domain);
  if (family == "records") return make_records(domain);
  return nullptr;
}

}  // namespace outlast::test::ends
