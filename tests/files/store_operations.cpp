// What is done with stores: opening, closing, backup, repair, destruction.
#include <tests/files/operation.hpp>

#include <outlast/db/checkpoint.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/pool/file/test_hooks.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace outlast::test::files {
namespace {

namespace fs = std::filesystem;

enum class task {
  create,
  open_clean,
  open_dirty,
  open_twice,
  open_none,
  close,
  backup,
  repair_clean,
  repair_dirty,
  destroy_clean,
  destroy_dirty,
};

using entries = std::map<std::string, std::string>;

class store_operation final : public operation {
 public:
  /// `after_destruction_opens`: what was cut off is not destroyed a second time, but opened.
  store_operation(task what, db::StoreEngine engine, bool on_disk,
                  bool after_destruction_opens = false)
      : what_(what), on_disk_(on_disk), opens_after_(after_destruction_opens) {
    more_.engine = engine;
    more_.capacity_bytes = std::size_t{has_records() ? 2048U : 256U} << 10;
    more_.max_unsynced_time = std::chrono::hours(1);  // no thread syncs meanwhile
    synced_.sync = true;
  }

  [[nodiscard]] std::string name() const override {
    return text_of_task() + (has_records() ? " of records" : "") +
           (on_disk_ ? " on a disk" : " in memory") + (opens_after_ ? ", and open it" : "");
  }

  [[nodiscard]] bool reports_failure() const override { return what_ != task::close; }
  [[nodiscard]] bool holds_its_files() const override { return what_ == task::close; }
  [[nodiscard]] bool loses_power() const override { return on_disk_; }

  void prepare(const std::string& root) override {
    set_medium();
    put_foreign_file(root + "/notes");
    if (what_ == task::create) return;
    if (what_ == task::open_none) {
      fs::create_directory(store_in(root));
      put_foreign_file(store_in(root) + "/LOG");
      put_foreign_file(store_in(root) + "/LOG.old");
      return;
    }
    require_ok(open(root, true));
    for (const auto& [key, value] : written_before()) require_ok(held_->Put(synced_, key, value));
    held_.reset();
    ::chmod((store_in(root) + "/store.pool").c_str(), 0600);
    if (!is_dirty()) return;
    require_ok(open(root, false));
    require_ok(held_->Put(synced_, "dirty", "too"));
    static_cast<void>(held_.release());  // the process ends with it
  }

  void begin(const std::string& root) override {
    set_medium();
    if (what_ != task::close && what_ != task::backup && what_ != task::open_twice) return;
    require_ok(open(root, false));
    require_ok(held_->Put(synced_, "new", "value"));
  }

  std::string run(const std::string& root) override {
    db::Status status;
    switch (what_) {
      case task::create:
      case task::open_clean:
      case task::open_dirty:
        status = open(root, true);
        if (status.ok()) status = held_->Put(synced_, "new", "value");
        break;
      case task::open_twice: {
        db::DB* second = nullptr;
        const std::size_t held = names_in("/proc/self/fd").size();
        status = db::DB::Open(options(false), more_, store_in(root), &second);
        if (second != nullptr) return "an open store was opened again";
        if (names_in("/proc/self/fd").size() > held) return "the refusal keeps a descriptor";
        return status.IsIOError() || status.IsInvalidArgument() ? "" : status.ToString();
      }
      case task::open_none:
        status = open(root, false);
        if (status.ok()) return "opened a store that is not there";
        return status.IsInvalidArgument() ? "" : status.ToString();
      case task::close: held_.reset(); break;
      case task::backup: status = db::Checkpoint(held_.get(), copy_in(root)); break;
      case task::repair_clean:
      case task::repair_dirty: status = db::RepairDB(store_in(root), options(false)); break;
      case task::destroy_clean:
      case task::destroy_dirty: status = db::DestroyDB(store_in(root), options(false)); break;
    }
    return status.ok() ? "" : status.ToString();
  }

  void end() override { held_.reset(); }

  std::string check(const std::string& root, const end_of_incarnation& before) override {
    set_medium();
    std::string wrong = check_privacy(root, "store.");
    if (what_ == task::create) wrong.clear();  // it has what the umask gives
    if (wrong.empty()) wrong = check_stores(root, before);
    return wrong.empty() ? check_foreign_file(root + "/notes") : wrong;
  }

 private:
  [[nodiscard]] static std::string store_in(const std::string& root) { return root + "/store"; }
  [[nodiscard]] static std::string copy_in(const std::string& root) { return root + "/copy"; }

  [[nodiscard]] std::string text_of_task() const {
    switch (what_) {
      case task::create: return "create a store";
      case task::open_clean: return "open a store";
      case task::open_dirty: return "open a store after a kill";
      case task::open_twice: return "open an open store";
      case task::open_none: return "open no store";
      case task::close: return "close a store";
      case task::backup: return "back up a store";
      case task::repair_clean: return "repair a store";
      case task::repair_dirty: return "repair a store after a kill";
      case task::destroy_clean: return "destroy a store";
      case task::destroy_dirty: return "destroy a store after a kill";
    }
    return {};
  }
  [[nodiscard]] bool is_dirty() const {
    return what_ == task::open_dirty || what_ == task::repair_dirty || what_ == task::destroy_dirty;
  }
  [[nodiscard]] bool is_destruction() const {
    return what_ == task::destroy_clean || what_ == task::destroy_dirty;
  }
  [[nodiscard]] bool is_repair() const {
    return what_ == task::repair_clean || what_ == task::repair_dirty;
  }

  [[nodiscard]] bool has_records() const { return more_.engine == db::StoreEngine::kRecords; }

  void set_medium() const {
    pool_detail::test_hooks().everything_is_a_disk = on_disk_;
    // Threads make calls at other times in each repetition.
    pool_detail::test_hooks().stores_have_no_threads = true;
  }

  [[nodiscard]] static db::Options options(bool may_create) {
    db::Options made;
    made.create_if_missing = may_create;
    return made;
  }

  [[nodiscard]] db::Status open(const std::string& root, bool may_create) {
    return open_in(store_in(root), may_create);
  }
  [[nodiscard]] db::Status open_in(const std::string& directory, bool may_create) {
    held_.reset();
    db::DB* opened = nullptr;
    const db::Status status = db::DB::Open(options(may_create), more_, directory, &opened);
    held_.reset(opened);
    return status;
  }

  static void require_ok(const db::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.ToString());
  }

  [[nodiscard]] static entries written_before() {
    entries all;
    for (int i = 0; i < 20; ++i) all["key " + std::to_string(i)] = std::string(100, 'v');
    return all;
  }

  [[nodiscard]] std::string check_stores(const std::string& root,
                                         const end_of_incarnation& before) {
    if (what_ == task::open_none) return check_none(root);
    if (is_destruction()) return check_destruction(root, before);
    std::string wrong = check_content(before, store_in(root));
    if (wrong.empty() && is_repair() && !before.acknowledged) {
      const db::Status status = db::RepairDB(store_in(root), options(false));
      if (!status.ok()) return "a second repair fails: " + status.ToString();
      wrong = check_content(before, store_in(root));
    }
    if (wrong.empty()) wrong = check_left(store_in(root));
    if (wrong.empty() && what_ == task::backup) wrong = check_copy(root, before);
    if (wrong.empty()) {
      wrong = check_names(root, what_ == task::backup
                                    ? std::vector<std::string>{"copy", "notes", "store"}
                                    : std::vector<std::string>{"notes", "store"});
    }
    return wrong;
  }

  /// Of a store, or of a copy of it.
  [[nodiscard]] std::string check_content(const end_of_incarnation& before,
                                          const std::string& directory) {
    const bool is_new = what_ == task::create;
    for (int incarnation = 0; incarnation < 2; ++incarnation) {
      const db::Status status = open_in(directory, is_new && !before.acknowledged);
      if (!status.ok()) return "it does not open: " + status.ToString();
      entries found;
      const std::unique_ptr<db::Iterator> at(held_->NewIterator({}));
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        found[at->key().ToString()] = at->value().ToString();
      }
      if (!at->status().ok()) return "it is not read: " + at->status().ToString();
      entries wanted = is_new ? entries() : written_before();
      if (is_dirty()) wanted["dirty"] = "too";
      const bool has_new = found.contains("new");
      if (has_new) wanted["new"] = "value";
      // What cannot be read a repair does without: what it replaced is kept.
      const bool may_miss = is_repair() && before.unread && fs::exists(directory + "/lost");
      if (found != wanted && !(may_miss && found.size() < wanted.size())) {
        return "it holds " + std::to_string(found.size()) + " keys, not the " +
               std::to_string(wanted.size()) + " that were acknowledged";
      }
      const bool was_written = what_ == task::close || what_ == task::backup ||
                               what_ == task::open_twice || (before.acknowledged && !is_repair());
      if (was_written && !has_new) return "the key that was acknowledged is gone";
    }
    held_.reset();
    return {};
  }
  /// What a repair has replaced lies in `lost`.
  [[nodiscard]] std::string check_left(const std::string& directory) const {
    std::vector<std::string> also = {"LOG", "LOG.old"};
    if (is_repair()) also.push_back("lost");
    return check_names(directory, {"LOCK", "store.pool"}, also);
  }

  [[nodiscard]] std::string check_copy(const std::string& root, const end_of_incarnation& before) {
    if (!before.acknowledged) {
      const db::Status there = open_in(copy_in(root), false);
      if (!there.ok()) {
        require_ok(open(root, false));
        const db::Status status = db::Checkpoint(held_.get(), copy_in(root));
        held_.reset();
        if (!status.ok()) return "a second backup fails: " + status.ToString();
      }
    }
    std::string wrong = check_content(before, copy_in(root));
    if (wrong.empty()) wrong = check_left(copy_in(root));
    if (!wrong.empty()) return "the copy: " + wrong;
    return check_privacy(copy_in(root), "store.");
  }

  [[nodiscard]] std::string check_none(const std::string& root) {
    std::string wrong = check_names(store_in(root), {"LOG", "LOG.old"});
    for (const char* const each : {"/LOG", "/LOG.old"}) {
      if (wrong.empty()) wrong = check_foreign_file(store_in(root) + each);
    }
    return wrong;
  }

  [[nodiscard]] std::string check_destruction(const std::string& root,
                                              const end_of_incarnation& before) {
    if (before.acknowledged && !before.power_cut) {
      return fs::exists(store_in(root)) ? "the destroyed store is there" : "";
    }
    if (opens_after_) {
      // Half of it may be gone; that a log is another's it is not to be told.
      const db::Status status = open(root, true);
      if (!status.ok() && !status.IsCorruption()) return "it does not open: " + status.ToString();
      held_.reset();
    }
    const db::Status status = db::DestroyDB(store_in(root), options(false));
    if (!status.ok()) return "a second destruction fails: " + status.ToString();
    if (fs::exists(store_in(root))) return "the destroyed store is there";
    const db::Status fresh = open(root, true);
    if (!fresh.ok()) return "no new store is made: " + fresh.ToString();
    const std::unique_ptr<db::Iterator> at(held_->NewIterator({}));
    at->SeekToFirst();
    return at->Valid() ? "the new store is not empty" : "";
  }

  task what_;
  bool on_disk_;
  bool opens_after_;
  db::StoreOptions more_;
  db::WriteOptions synced_;
  std::unique_ptr<db::DB> held_;
};

}  // namespace

operations store_operations(db::StoreEngine engine, bool on_disk) {
  operations all;
  for (const task each : {task::create, task::open_clean, task::open_dirty, task::open_twice,
                          task::open_none, task::close, task::backup, task::repair_clean,
                          task::repair_dirty, task::destroy_clean, task::destroy_dirty}) {
    all.push_back(std::make_unique<store_operation>(each, engine, on_disk));
  }
  all.push_back(std::make_unique<store_operation>(task::destroy_dirty, engine, on_disk, true));
  return all;
}

}  // namespace outlast::test::files
