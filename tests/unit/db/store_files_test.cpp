// Goal: what concerns files is done to a store's own alone, is finished by a second call where it
// was cut off, and leaves nothing where it fails. Method: directories that hold no store, or
// another one's; names that an Env maps; stores larger than one piece of a repair; classes around a
// DB.
#include <outlast/db/checkpoint.hpp>
#include <outlast/db/transaction.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace outlast::test {
namespace {

namespace fs = std::filesystem;

class StoresFiles : public testing::TestWithParam<place> {
 protected:
  StoresFiles() : home(GetParam()) {}

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& each : fs::directory_iterator(home.name()))
      all.push_back(each.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
  void make_file(const std::string& name, const std::string& content = "theirs") const {
    fs::create_directories(home.name());
    std::ofstream(home.file(name)) << content;
  }
  [[nodiscard]] std::string content_of_file(const std::string& name) const {
    std::ifstream in(home.file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Values of 100 bytes, a little over 2 MiB of them.
  void fill(int keys = 20'000) {
    for (int i = 0; i < keys; ++i) {
      ASSERT_EQ(home->Put({}, std::to_string(i), std::string(100, 'v')).ToString(), "OK");
    }
  }
  void expect_filled(int keys = 20'000) {
    ASSERT_EQ(home.open().ToString(), "OK");
    std::string counted;
    EXPECT_TRUE(home->GetProperty("outlast.keys", &counted));
    EXPECT_EQ(counted, std::to_string(keys));
    EXPECT_EQ(value_of(*home, "17"), std::string(100, 'v'));
  }

  store_home home;
};

INSTANTIATE_TEST_SUITE_P(everywhere, StoresFiles,
                         testing::Values(place::memory_files, place::disk, place::record_files,
                                         place::record_disk),
                         testing::PrintToStringParamName());

// ---- Directories that are no stores ----

TEST(MemoryFiles, are_not_read_behind_their_ends) {
  const std::unique_ptr<db::Env> env(db::NewMemEnv(db::Env::Default()));
  db::WritableFile* written = nullptr;
  ASSERT_TRUE(env->NewWritableFile("/f", &written).ok());
  const std::unique_ptr<db::WritableFile> file(written);
  ASSERT_TRUE(file->Append("abc").ok());
  db::RandomAccessFile* opened = nullptr;
  ASSERT_TRUE(env->NewRandomAccessFile("/f", &opened).ok());
  const std::unique_ptr<db::RandomAccessFile> read(opened);
  char scratch[8];
  db::Slice found;
  EXPECT_EQ(read->Read(1, 8, &found, scratch).ToString(), "OK");
  EXPECT_EQ(found.ToString(), "bc");
  EXPECT_EQ(read->Read(3, 8, &found, scratch).ToString(), "OK");
  EXPECT_TRUE(found.empty());
  const db::Status behind = read->Read(4, 8, &found, scratch);
  EXPECT_EQ(behind.ToString(), "IO error: Offset greater than file size.");
  EXPECT_TRUE(found.empty());
}

TEST_P(StoresFiles, of_others_are_left_alone_by_an_opening_that_finds_no_store) {
  make_file("LOG");
  make_file("LOG.old", "older");
  home.options.create_if_missing = false;
  EXPECT_TRUE(home.open().IsInvalidArgument());
  EXPECT_EQ(names(), (std::vector<std::string>{"LOG", "LOG.old"}));
  EXPECT_EQ(content_of_file("LOG"), "theirs");
  EXPECT_EQ(content_of_file("LOG.old"), "older");
}

TEST_P(StoresFiles, of_others_are_left_alone_by_a_destruction) {
  make_file("LOG");
  EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  EXPECT_EQ(names(), (std::vector<std::string>{"LOG"}));
}

TEST_P(StoresFiles, of_leveldb_are_not_destroyed) {
  for (const char* const name : {"CURRENT", "LOCK", "LOG", "000005.ldb"}) make_file(name);
  const auto before = names();
  const db::Status refused = db::DestroyDB(home.name(), home.options);
  EXPECT_TRUE(refused.IsNotSupportedError()) << refused.ToString();
  EXPECT_EQ(names(), before);
}

TEST_P(StoresFiles, are_all_gone_after_a_destruction) {
  ASSERT_EQ(home.open().ToString(), "OK");
  fill(10);
  home.close();
  EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  EXPECT_FALSE(fs::exists(home.name()));
}

/// After each removal that a destruction may have been cut off behind.
TEST_P(StoresFiles, are_destroyed_by_a_second_call_after_one_that_was_cut_off) {
  struct cut_off final : db::EnvWrapper {
    using db::EnvWrapper::EnvWrapper;
    db::Status RemoveFile(const std::string& file) override {
      if (left == 0) return db::Status::IOError(file, "cut off");
      --left;
      return db::EnvWrapper::RemoveFile(file);
    }
    db::Status RemoveDir(const std::string& name) override {
      return left == 0 ? db::Status::IOError(name, "cut off") : db::EnvWrapper::RemoveDir(name);
    }
    int left = 0;
  } env(db::Env::Default());
  for (int removals = 0; removals < 5; ++removals) {
    ASSERT_TRUE(
        in_a_killed_process([&] { return home.open().ok() && home->Put({}, "k", "v").ok(); }));
    db::Options options = home.options;
    options.env = &env;
    env.left = removals;
    static_cast<void>(db::DestroyDB(home.name(), options));
    EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK") << removals;
    EXPECT_FALSE(fs::exists(home.name())) << removals;
    ASSERT_EQ(home.open().ToString(), "OK") << removals;
    EXPECT_EQ(value_of(*home, "k"), "(none)");
    home.close();
    ASSERT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  }
}

/// Where a log without its data would be taken for another store's.
TEST_P(StoresFiles, are_destroyed_the_log_before_the_data) {
  struct order final : db::EnvWrapper {
    using db::EnvWrapper::EnvWrapper;
    db::Status RemoveFile(const std::string& file) override {
      removed.push_back(fs::path(file).filename());
      return db::EnvWrapper::RemoveFile(file);
    }
    std::vector<std::string> removed;
  } env(db::Env::Default());
  ASSERT_TRUE(
      in_a_killed_process([&] { return home.open().ok() && home->Put({}, "k", "v").ok(); }));
  db::Options options = home.options;
  options.env = &env;
  EXPECT_EQ(db::DestroyDB(home.name(), options).ToString(), "OK");
  const auto at = [&](const char* name) {
    return std::find(env.removed.begin(), env.removed.end(), name) - env.removed.begin();
  };
  EXPECT_LT(at("store.pool"), static_cast<std::ptrdiff_t>(env.removed.size()));
  if (home.is_logged()) EXPECT_LT(at("store.pool.redo"), at("store.pool"));
}

// ---- An Env that maps names ----

class mapping_env final : public db::EnvWrapper {
 public:
  explicit mapping_env(std::string to) : db::EnvWrapper(db::Env::Default()), to_(std::move(to)) {
    fs::create_directories(to_);
  }
  bool FileExists(const std::string& f) override { return target()->FileExists(at(f)); }
  db::Status CreateDir(const std::string& d) override { return target()->CreateDir(at(d)); }
  db::Status RemoveDir(const std::string& d) override { return target()->RemoveDir(at(d)); }
  db::Status LockFile(const std::string& f, db::FileLock** l) override {
    return target()->LockFile(at(f), l);
  }
  db::Status NewLogger(const std::string& f, db::Logger** l) override {
    return target()->NewLogger(at(f), l);
  }

 private:
  [[nodiscard]] std::string at(const std::string& path) const {
    std::string flat = path;
    std::replace(flat.begin(), flat.end(), '/', '_');
    return to_ + "/" + flat;
  }
  std::string to_;
};

TEST_P(StoresFiles, are_refused_where_an_env_maps_their_names) {
  const std::string elsewhere = home.name() + "-elsewhere";
  mapping_env env(elsewhere);
  home.options.env = &env;
  const db::Status refused = home.open();
  EXPECT_TRUE(refused.IsNotSupportedError()) << refused.ToString();
  EXPECT_TRUE(fs::is_empty(elsewhere));
  EXPECT_FALSE(fs::exists(home.name()));
}

// ---- Openings that fail ----

TEST_P(StoresFiles, of_an_opening_that_failed_do_not_hinder_the_next) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 62}) {
    home.more.capacity_bytes = bytes;
    const db::Status refused = home.open();
    EXPECT_FALSE(refused.ok()) << bytes;
    EXPECT_FALSE(fs::exists(home.file("store.pool"))) << bytes << ": " << refused.ToString();
    home.more.capacity_bytes = std::size_t{64} << 20;
    EXPECT_EQ(home.open().ToString(), "OK") << "after " << bytes;
    home.close();
    ASSERT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  }
}

/// The pool may have been moved away for a moment.
TEST_P(StoresFiles, are_not_made_beside_a_log_whose_pool_is_elsewhere) {
  make_file("store.pool.redo");
  const db::Status refused = home.open();
  EXPECT_TRUE(refused.IsIOError() || refused.IsInvalidArgument()) << refused.ToString();
  EXPECT_NE(refused.ToString().find("store.pool.redo"), std::string::npos) << refused.ToString();
  EXPECT_EQ(content_of_file("store.pool.redo"), "theirs");
  EXPECT_FALSE(fs::exists(home.file("store.pool")));
  EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  EXPECT_EQ(home.open().ToString(), "OK");
}

TEST_P(StoresFiles, cost_no_descriptor_for_each_opening_that_is_refused) {
  ASSERT_EQ(home.open().ToString(), "OK");
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  db::DB* second = nullptr;
  EXPECT_TRUE(db::DB::Open(home.options, home.name(), &second).IsIOError());
  const auto before = descriptors();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(db::DB::Open(home.options, home.name(), &second).IsIOError());
  }
  EXPECT_EQ(descriptors(), before);
}

// ---- Repair ----

TEST_P(StoresFiles, are_repaired_whatever_their_size) {
  ASSERT_EQ(home.open().ToString(), "OK");
  fill();
  home.close();
  EXPECT_EQ(db::RepairDB(home.name(), home.options).ToString(), "OK");
  expect_filled();
  home.close();
  EXPECT_FALSE(fs::exists(home.file("store.rescued")));
  EXPECT_FALSE(fs::exists(home.file("store.rescued.redo")));
}

TEST_P(StoresFiles, that_are_private_stay_private) {
  ASSERT_EQ(home.open().ToString(), "OK");
  fill(100);
  home.close();
  const auto mode_of = [&](const std::string& name) {
    struct stat status{};
    EXPECT_EQ(::stat(name.c_str(), &status), 0) << name;
    return status.st_mode & 0777U;
  };
  ASSERT_EQ(::chmod(home.file("store.pool").c_str(), 0600), 0);
  ASSERT_EQ(home.open().ToString(), "OK");
  fill(100);
  if (home.is_logged()) EXPECT_EQ(mode_of(home.file("store.pool.redo")), 0600U);
  const std::string copy = home.name() + "-copy";
  ASSERT_EQ(db::Checkpoint(&*home, copy).ToString(), "OK");
  EXPECT_EQ(mode_of(copy + "/store.pool"), 0600U);
  home.close();
  ASSERT_EQ(db::RepairDB(home.name(), home.options).ToString(), "OK");
  EXPECT_EQ(mode_of(home.file("store.pool")), 0600U);
}

// ---- A class of a program's around a DB ----

class decorated final : public db::DB {
 public:
  explicit decorated(db::DB& in) : in_(in) {}
  db::Status Put(const db::WriteOptions& o, const db::Slice& k, const db::Slice& v) override {
    return in_.Put(o, k, v);
  }
  db::Status Delete(const db::WriteOptions& o, const db::Slice& k) override {
    return in_.Delete(o, k);
  }
  db::Status Write(const db::WriteOptions& o, db::WriteBatch* b) override {
    return in_.Write(o, b);
  }
  db::Status Get(const db::ReadOptions& o, const db::Slice& k, std::string* v) override {
    return in_.Get(o, k, v);
  }
  db::Iterator* NewIterator(const db::ReadOptions& o) override { return in_.NewIterator(o); }
  const db::Snapshot* GetSnapshot() override { return in_.GetSnapshot(); }
  void ReleaseSnapshot(const db::Snapshot* s) override { in_.ReleaseSnapshot(s); }
  bool GetProperty(const db::Slice& p, std::string* v) override { return in_.GetProperty(p, v); }
  void GetApproximateSizes(const db::Range* r, int n, uint64_t* s) override {
    in_.GetApproximateSizes(r, n, s);
  }
  void CompactRange(const db::Slice* b, const db::Slice* e) override { in_.CompactRange(b, e); }

 private:
  db::DB& in_;
};

TEST_P(StoresFiles, are_not_looked_for_behind_a_class_of_a_programs_own) {
  ASSERT_EQ(home.open().ToString(), "OK");
  decorated around(*home);
  db::Transaction step(&around);
  std::string value;
  step.Put("key", "value");
  EXPECT_TRUE(step.Get("key", &value).IsInvalidArgument());
  EXPECT_TRUE(step.Scan("", nullptr, [](const db::Slice&, const db::Slice&) { return true; })
                  .IsInvalidArgument());
  bool is_done = true;
  EXPECT_TRUE(step.Commit({}, &is_done).IsInvalidArgument());
  EXPECT_FALSE(is_done);
  is_done = true;
  EXPECT_TRUE(step.Holds(&is_done).IsInvalidArgument());
  EXPECT_FALSE(is_done);
  EXPECT_TRUE(db::RunTransaction(&around, {}, [](db::Transaction& t) {
                t.Put("key", "value");
                return db::Status();
              }).IsInvalidArgument());
  const db::Status refused = db::Checkpoint(&around, home.name() + "-copy");
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  EXPECT_FALSE(fs::exists(home.name() + "-copy"));
  EXPECT_EQ(value_of(*home, "key"), "(none)");
}

}  // namespace
}  // namespace outlast::test
