// Goal: a store opens when it should and says why when it should not; it is there again after a
// close and after a kill; what is damaged is told, and repaired as far as it can be read.
// Method: options, locks, processes that end without a word, files that are spoilt byte by byte;
// on a file system in memory, on a disk, and in ordinary memory.
#include <outlast/db/comparator.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <tests/support/store_bytes.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

namespace outlast::test {
namespace {

namespace fs = std::filesystem;

class StoreOpening : public testing::TestWithParam<place> {
 protected:
  StoreOpening() : home(GetParam()) {}

  store_home home;
};
/// Where there are files.
class StoreFiles : public StoreOpening {};

INSTANTIATE_TEST_SUITE_P(everywhere, StoreOpening,
                         testing::Values(place::memory_files, place::disk, place::ordinary_memory,
                                         place::record_files, place::record_disk,
                                         place::ordinary_records),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(everywhere, StoreFiles,
                         testing::Values(place::memory_files, place::disk, place::record_files,
                                         place::record_disk),
                         testing::PrintToStringParamName());
class StoreOfSynced : public StoreOpening {};
INSTANTIATE_TEST_SUITE_P(everywhere, StoreOfSynced,
                         testing::Values(place::memory_files, place::disk, place::device,
                                         place::record_files, place::record_disk),
                         testing::PrintToStringParamName());

db::WriteOptions synced() {
  db::WriteOptions made;
  made.sync = true;
  return made;
}

// ---- Options ----

TEST_P(StoreOpening, creates_only_if_it_may) {
  home.options.create_if_missing = false;
  const db::Status refused = home.open();
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  EXPECT_NE(refused.ToString().find("does not exist"), std::string::npos) << refused.ToString();
  home.options.create_if_missing = true;
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(home->Put({}, "key", "value").ToString(), "OK");
  home.options.create_if_missing = false;
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, "key"), "value");
}

TEST_P(StoreOpening, keeps_its_engine) {
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(home->Put({}, "key", "value").ToString(), "OK");
  const db::StoreEngine own =
      home.has_records() ? db::StoreEngine::kRecords : db::StoreEngine::kReplicas;
  for (const db::StoreEngine each :
       {db::StoreEngine::kReplicas, db::StoreEngine::kRecords, db::StoreEngine::kAutomatic}) {
    home.more.engine = each;
    const db::Status status = home.open();
    if (each == db::StoreEngine::kAutomatic || each == own) {
      ASSERT_EQ(status.ToString(), "OK");
      EXPECT_EQ(value_of(*home, "key"), "value");
    } else {
      EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
      EXPECT_NE(status.ToString().find("StoreOptions::engine"), std::string::npos);
      EXPECT_NE(status.ToString().find("outlast db convert"), std::string::npos);
    }
  }
}

TEST_P(StoreOpening, refuses_sizes_that_the_store_does_not_have) {
  if (home.has_records()) GTEST_SKIP() << "each opening chooses";
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(home->Put({}, "key", "value").ToString(), "OK");
  const std::size_t has = home.more.capacity_bytes;
  home.more.capacity_bytes = 2 * has;
  const std::string refused = home.open().ToString();
  EXPECT_EQ(refused.find("Invalid argument"), 0U) << refused;
  EXPECT_NE(refused.find("capacity_bytes is " + std::to_string(2 * has)), std::string::npos)
      << refused;
  EXPECT_NE(refused.find("created with " + std::to_string(has)), std::string::npos) << refused;
  home.more.capacity_bytes = has / 2;
  EXPECT_EQ(home.open().ToString(), "OK");
  home.more.capacity_bytes = 0;
  home.more.replicas = 7;
  const std::string other_replicas = home.open().ToString();
  if (home.is_logged()) {
    EXPECT_EQ(other_replicas, "OK");  // they are in memory
  } else {
    EXPECT_NE(other_replicas.find("replicas is 7, and the store was created with 4"),
              std::string::npos)
        << other_replicas;
  }
  home.more = {};
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, "key"), "value");
  home.more.capacity_bytes = has;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, "key"), "value");
}

TEST_P(StoreOpening, opens_what_exists_only_if_it_may) {
  home.options.error_if_exists = true;
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(home->Put({}, "key", "value").ToString(), "OK");
  const db::Status refused = home.open();
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  home.options.error_if_exists = false;
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, "key"), "value");
}

TEST_P(StoreOpening, judges_its_own_options) {
  home.options.comparator = nullptr;
  EXPECT_TRUE(home.open().IsInvalidArgument());
  home.options.comparator = db::BytewiseComparator();
  db::Options without = home.options;
  without.env = nullptr;
  EXPECT_TRUE(db::DestroyDB("nowhere", without).IsInvalidArgument());
  EXPECT_TRUE(db::RepairDB("nowhere", without).IsInvalidArgument());
  for (const unsigned replicas : {0U, 1U, 65U}) {
    home.more.replicas = replicas;
    EXPECT_EQ(home.open().ToString(), "Invalid argument: StoreOptions::replicas is " +
                                          std::to_string(replicas) + "; it must be from 2 to 64");
  }
  home.more.replicas = 2;
  home.more.max_unsynced_time = std::chrono::microseconds(-1);
  EXPECT_EQ(home.open().ToString(),
            "Invalid argument: StoreOptions::max_unsynced_time is -1 us; it must be 0 or more");
  home.more.max_unsynced_time = std::chrono::microseconds(0);
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(home->Put({}, "key", "value").ToString(), "OK");
}

TEST_P(StoreOpening, accepts_what_tunes_files_that_it_has_not) {
  home.options.write_buffer_size = 1;
  home.options.max_open_files = -1;
  home.options.block_size = 0;
  home.options.block_restart_interval = 0;
  home.options.max_file_size = 0;
  home.options.compression = db::kNoCompression;
  home.options.reuse_logs = true;
  EXPECT_EQ(home.open().ToString(), "OK");
}

class named final : public db::Comparator {
 public:
  explicit named(const char* name) : name_(name) {}
  int Compare(const db::Slice& a, const db::Slice& b) const override { return a.compare(b); }
  const char* Name() const override { return name_; }
  void FindShortestSeparator(std::string*, const db::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const char* name_;
};

TEST_P(StoreOpening, refuses_another_comparators_name) {
  const named first("test.first");
  const named second("test.second");
  home.options.comparator = &first;
  ASSERT_EQ(home.open().ToString(), "OK");
  ASSERT_TRUE(home->Put({}, "key", "value").ok());
  for (const db::Comparator* const other :
       {static_cast<const db::Comparator*>(&second), db::BytewiseComparator()}) {
    home.options.comparator = other;
    const db::Status refused = home.open();
    EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
    EXPECT_NE(refused.ToString().find("test.first"), std::string::npos) << refused.ToString();
    EXPECT_NE(refused.ToString().find(other->Name()), std::string::npos) << refused.ToString();
  }
  const named same("test.first");
  home.options.comparator = &same;
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, "key"), "value");
}

// ---- Paths and locks ----

TEST_P(StoreFiles, refuses_a_place_that_it_cannot_have) {
  const std::string parent = home.name();
  db::DB* opened = nullptr;
  // As LevelDB does: it creates the directory, and not those above it.
  EXPECT_TRUE(db::DB::Open(home.options, parent + "/missing/store", &opened).IsNotFound());
  EXPECT_EQ(opened, nullptr);
  EXPECT_FALSE(fs::exists(parent));
  std::ofstream(parent) << "a file";
  const db::Status refused = home.open();
  EXPECT_TRUE(refused.IsIOError()) << refused.ToString();
  EXPECT_EQ(fs::file_size(parent), 6U);
}

TEST_P(StoreFiles, is_where_a_directory_was_that_is_empty) {
  fs::create_directory(home.name());
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(home.open().ToString(), "OK");
}

TEST_P(StoreFiles, does_not_open_in_a_directory_of_leveldb) {
  fs::create_directory(home.name());
  std::ofstream(home.file("CURRENT")) << "MANIFEST-000002\n";
  const db::Status refused = home.open();
  EXPECT_TRUE(refused.IsNotSupportedError()) << refused.ToString();
  EXPECT_FALSE(fs::exists(home.file("store.pool")));
}

TEST_P(StoreOpening, opens_once_in_a_process) {
  ASSERT_EQ(home.open().ToString(), "OK");
  ASSERT_TRUE(home->Put({}, "key", "value").ok());
  for (const std::string& same : {home.name(), home.name() + "/."}) {
    if (home.is_volatile() && same != home.name()) continue;  // knows paths by their text
    db::DB* second = nullptr;
    const db::Status refused = db::DB::Open(home.options, home.more, same, &second);
    EXPECT_TRUE(refused.IsIOError()) << refused.ToString();
    EXPECT_EQ(second, nullptr);
  }
  EXPECT_TRUE(db::DestroyDB(home.name(), home.options).IsIOError());
  EXPECT_EQ(db::RepairDB(home.name(), home.options).IsIOError(), !home.is_volatile());
  EXPECT_EQ(home->Put({}, "key", "value 2").ToString(), "OK");
  EXPECT_EQ(value_of(*home, "key"), "value 2");
  EXPECT_EQ(home.open().ToString(), "OK");
}

/// A process that has the store open until it is killed.
class other_process {
 public:
  explicit other_process(store_home& home) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(ends[0]);
      const bool open = home.open().ok() && home->Put(synced(), "key", "of another one").ok();
      static_cast<void>(::write(ends[1], &open, 1));
      for (;;) ::pause();
    }
    ::close(ends[1]);
    EXPECT_EQ(::read(ends[0], &is_open_, 1), 1);
    ::close(ends[0]);
  }
  ~other_process() { kill(); }
  other_process(const other_process&) = delete;
  other_process& operator=(const other_process&) = delete;

  [[nodiscard]] bool is_open() const { return is_open_; }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  ::pid_t child_ = 0;
  bool is_open_ = false;
};

TEST_P(StoreFiles, opens_in_one_process_at_a_time) {
  other_process other(home);
  ASSERT_TRUE(other.is_open());
  const db::Status refused = home.open();
  EXPECT_TRUE(refused.IsIOError()) << refused.ToString();
  EXPECT_TRUE(db::DestroyDB(home.name(), home.options).IsIOError());
  EXPECT_TRUE(db::RepairDB(home.name(), home.options).IsIOError());
  other.kill();
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(value_of(*home, "key"), "of another one");
}

// ---- Envs and messages ----

class counting_env final : public db::EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  db::Status LockFile(const std::string& f, db::FileLock** l) override {
    ++locks;
    return EnvWrapper::LockFile(f, l);
  }
  db::Status UnlockFile(db::FileLock* l) override {
    ++unlocks;
    return EnvWrapper::UnlockFile(l);
  }
  db::Status CreateDir(const std::string& d) override {
    ++directories;
    return EnvWrapper::CreateDir(d);
  }
  db::Status NewLogger(const std::string& f, db::Logger** l) override {
    ++loggers;
    return EnvWrapper::NewLogger(f, l);
  }

  int locks = 0;
  int unlocks = 0;
  int directories = 0;
  int loggers = 0;
};

TEST_P(StoreFiles, asks_the_env_that_it_was_given) {
  counting_env env(db::Env::Default());
  home.options.env = &env;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(env.locks, 1);
  EXPECT_EQ(env.unlocks, 0);
  EXPECT_EQ(env.directories, 1);
  EXPECT_EQ(env.loggers, 1);
  home.close();
  EXPECT_EQ(env.unlocks, 1);
  EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  EXPECT_EQ(env.locks, 2);
  EXPECT_EQ(env.unlocks, 2);
}

class listening_logger final : public db::Logger {
 public:
  void Logv(const char* format, std::va_list ap) override {
    std::array<char, 1000> text{};
    std::vsnprintf(text.data(), text.size(), format, ap);
    all += text.data();
    all += '\n';
  }
  std::string all;
};

TEST_P(StoreOpening, tells_a_logger_what_happens) {
  listening_logger heard;
  home.options.info_log = &heard;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_NE(heard.all.find("is open"), std::string::npos) << heard.all;
  home.close();
  EXPECT_NE(heard.all.find("is closed: OK"), std::string::npos) << heard.all;
  EXPECT_FALSE(fs::exists(home.file("LOG")));
}

TEST_P(StoreFiles, keeps_a_log_and_the_one_before) {
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_TRUE(fs::exists(home.file("LOG")));
  EXPECT_FALSE(fs::exists(home.file("LOG.old")));
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_GT(fs::file_size(home.file("LOG")), 0U);
  EXPECT_GT(fs::file_size(home.file("LOG.old")), 0U);
}

// ---- The next time ----

entries fill(db::DB& store, int keys, std::size_t value_bytes = 100) {
  entries all;
  for (int i = 0; i < keys; ++i) {
    const std::string key = std::to_string(100'000 + i);
    all.emplace_back(key, "value of " + key + std::string(value_bytes, 'v'));
    EXPECT_EQ(store.Put({}, key, all.back().second).ToString(), "OK");
  }
  return all;
}

TEST_P(StoreOpening, has_everything_after_a_close) {
  ASSERT_EQ(home.open().ToString(), "OK");
  const entries expected = fill(*home, 1000);
  const db::Snapshot* const open = home->GetSnapshot();
  ASSERT_TRUE(home->Put({}, "a", "later").ok());
  home->ReleaseSnapshot(open);
  for (int again = 0; again < 3; ++again) {
    home.options.paranoid_checks = again == 2;
    ASSERT_EQ(home.open().ToString(), "OK");
    entries with_it = expected;
    with_it.emplace_back("a", "later");
    EXPECT_EQ(content_of(*home), with_it);
  }
}

TEST_P(StoreFiles, takes_space_for_the_copies_that_are_needed) {
  home.more.replicas = 8;
  ASSERT_EQ(home.open().ToString(), "OK");
  const auto bytes = [&](const char* property) {
    std::string value;
    EXPECT_TRUE(home->GetProperty(property, &value));
    return std::stoull(value);
  };
  const std::size_t others = bytes("outlast.file-bytes");
  const std::string value(100'000, 'v');
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(home->Put({}, std::to_string(i), value).ok());
  const std::size_t data = bytes("outlast.data-bytes");
  EXPECT_GE(data, 200 * value.size());
  // Of two copies, an eighth more and a large page for each.
  EXPECT_LE(bytes("outlast.file-bytes") - others, data * 9 / 4 + (std::size_t{8} << 20));
  ASSERT_EQ(home.open().ToString(), "OK");
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(home->Put({}, std::to_string(t * 50 + i), value + "w").ok());
      }
    });
  }
  for (std::thread& each : writers) each.join();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(value_of(*home, std::to_string(i)), value + "w") << i;
}

TEST_P(StoreOfSynced, has_what_was_synced_after_a_kill) {
  entries expected;
  for (int life = 0; life < 3; ++life) {
    const std::string key = "life " + std::to_string(life);
    EXPECT_TRUE(in_a_killed_process([&] {
      bool good = home.open().ok() && content_of(*home) == expected;
      for (int i = 0; i < 100; ++i) good = good && home->Put({}, key, std::to_string(i)).ok();
      static_cast<void>(home->GetSnapshot());
      return good && home->Put(synced(), key, "last").ok();
    }));
    expected.emplace_back(key, "last");
  }
  home.options.paranoid_checks = true;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home), expected);
}

TEST_P(StoreOfSynced, has_a_prefix_of_what_was_not_synced) {
  home.more.max_unsynced_time = std::chrono::hours(1);
  constexpr int written = 1000;
  constexpr int last_synced = 400;
  ASSERT_TRUE(in_a_killed_process([&] {
    bool good = home.open().ok();
    for (int i = 0; i < written; ++i) {
      const std::string key = std::to_string(10'000 + i);
      good = good && home->Put(i == last_synced ? synced() : db::WriteOptions(), key, "v").ok();
    }
    return good;
  }));
  ASSERT_EQ(home.open().ToString(), "OK");
  const entries found = content_of(*home);
  EXPECT_GT(found.size(), std::size_t{last_synced});
  EXPECT_TRUE(home.is_logged() || found.size() == std::size_t{written});
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, std::to_string(10'000 + i));
  }
}

TEST_P(StoreFiles, has_what_was_not_synced_when_its_window_is_over) {
  home.more.max_unsynced_time = std::chrono::milliseconds(5);
  ASSERT_TRUE(in_a_killed_process([&] {
    bool good = home.open().ok();
    for (int i = 0; i < 100; ++i) good = good && home->Put({}, std::to_string(i), "v").ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return good;
  }));
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home).size(), 100U);
}

TEST_P(StoreFiles, syncs_on_request_what_was_written_before) {
  home.more.max_unsynced_time = std::chrono::hours(1);
  ASSERT_TRUE(in_a_killed_process([&] {
    db::WriteBatch nothing;
    return home.open().ok() && home->Put({}, "key", "value").ok() && home->Delete({}, "x").ok() &&
           home->Write(synced(), &nothing).ok();
  }));
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home), (entries{{"key", "value"}}));
}

TEST_P(StoreFiles, gives_back_what_snapshots_of_a_killed_process_held) {
  ASSERT_TRUE(in_a_killed_process([&] {
    bool good = home.open().ok();
    for (char with = 'a'; with < 'k'; ++with) {
      for (int i = 0; i < 500; ++i) {
        good = good && home->Put({}, std::to_string(i), std::string(100, with)).ok();
      }
      static_cast<void>(home->GetSnapshot());
    }
    return good && home->Write(synced(), nullptr).ok();
  }));
  ASSERT_EQ(home.open().ToString(), "OK");
  const auto bytes = [&] {
    std::string text;
    EXPECT_TRUE(home->GetProperty("outlast.data-bytes", &text));
    return std::stoull(text);
  };
  const auto before = bytes();
  home->CompactRange(nullptr, nullptr);
  for (char with = 'k'; with < 'r'; ++with) {
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(home->Put({}, std::to_string(i), std::string(100, with)).ok());
    }
  }
  EXPECT_LE(bytes(), before);
}

// ---- Removal ----

TEST_P(StoreOpening, is_destroyed_with_its_files) {
  ASSERT_EQ(home.open().ToString(), "OK");
  ASSERT_TRUE(home->Put({}, "key", "value").ok());
  home.close();
  EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  EXPECT_FALSE(fs::exists(home.name()));
  EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  home.options.error_if_exists = true;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home), entries());
}

TEST_P(StoreFiles, is_destroyed_without_what_is_not_its_own) {
  ASSERT_TRUE(in_a_killed_process(
      [&] { return home.open().ok() && home->Put(synced(), "key", "value").ok(); }));
  std::ofstream(home.file("notes")) << "somebody's";
  EXPECT_EQ(db::DestroyDB(home.name(), home.options).ToString(), "OK");
  std::vector<std::string> left;
  for (const auto& each : fs::directory_iterator(home.name())) {
    left.push_back(each.path().filename().string());
  }
  EXPECT_EQ(left, std::vector<std::string>{"notes"});
}

// ---- Damage ----

TEST_P(StoreFiles, finds_a_flipped_byte_of_a_value_where_it_is_asked_to) {
  ASSERT_EQ(home.open().ToString(), "OK");
  entries expected = fill(*home, 100);
  home.close();
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), expected[50].second, 20), 0);
  ASSERT_EQ(home.open().ToString(), "OK");
  db::ReadOptions verified;
  verified.verify_checksums = true;
  std::string value;
  const db::Status damaged = home->Get(verified, expected[50].first, &value);
  EXPECT_TRUE(damaged.IsCorruption()) << damaged.ToString();
  EXPECT_EQ(value, "");
  EXPECT_EQ(home->Get({}, expected[50].first, &value).ToString(), "OK");
  EXPECT_NE(value, expected[50].second);
  EXPECT_EQ(home->Get(verified, expected[51].first, &value).ToString(), "OK");
  std::unique_ptr<db::Iterator> it(home->NewIterator(verified));
  std::size_t shown = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++shown;
  EXPECT_EQ(shown, 50U);
  EXPECT_TRUE(it->status().IsCorruption());
  it.reset();
  home.options.paranoid_checks = true;
  EXPECT_TRUE(home.open().IsCorruption());
  home.options.paranoid_checks = false;
  ASSERT_EQ(home.open().ToString(), "OK");
  // A new value heals it.
  EXPECT_EQ(home->Put({}, expected[50].first, expected[50].second).ToString(), "OK");
  home.options.paranoid_checks = true;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home), expected);
}

TEST_P(StoreFiles, repairs_what_needs_no_repair_without_a_change) {
  ASSERT_EQ(home.open().ToString(), "OK");
  const entries expected = fill(*home, 500);
  home.close();
  EXPECT_EQ(db::RepairDB(home.name(), home.options).ToString(), "OK");
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home), expected);
  home.close();
  EXPECT_FALSE(fs::exists(home.file("store.rescued")));
}

TEST_P(StoreFiles, repairs_nothing_that_is_not_there) {
  EXPECT_TRUE(db::RepairDB(home.name(), home.options).IsInvalidArgument());
}

TEST_P(StoreFiles, keeps_all_but_a_damaged_value_in_a_repair) {
  ASSERT_EQ(home.open().ToString(), "OK");
  entries expected = fill(*home, 500);
  home.close();
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), expected[123].second, 3), 0);
  EXPECT_EQ(db::RepairDB(home.name(), home.options).ToString(), "OK");
  expected.erase(expected.begin() + 123);
  home.options.paranoid_checks = true;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home), expected);
  EXPECT_EQ(home->Put({}, "z", "new").ToString(), "OK");
  home.close();
  EXPECT_FALSE(fs::exists(home.file("store.rescued")));
}

TEST_P(StoreFiles, keeps_the_order_of_keys_in_a_repair) {
  const named order("test.order");
  home.options.comparator = &order;
  ASSERT_EQ(home.open().ToString(), "OK");
  entries expected = fill(*home, 200);
  home.close();
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), expected[10].second, 3), 0);
  EXPECT_EQ(db::RepairDB(home.name(), home.options).ToString(), "OK");
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home).size(), 199U);
}

TEST_P(StoreFiles, keeps_the_keys_around_a_damaged_one_in_a_repair) {
  ASSERT_EQ(home.open().ToString(), "OK");
  const entries expected = fill(*home, 3000, 0);
  home.close();
  // Keys of 6 bytes lie in the pages of the tree. The order that a search relies on is broken.
  ASSERT_GT(corrupt_bytes(home.file("store.pool"), "101500", 0), 0);
  const db::Status repaired = db::RepairDB(home.name(), home.options);
  EXPECT_EQ(repaired.ToString(), "OK");
  home.options.paranoid_checks = true;
  ASSERT_EQ(home.open().ToString(), "OK");
  const entries found = content_of(*home);
  EXPECT_GT(found.size(), 2500U);
  EXPECT_TRUE(std::includes(expected.begin(), expected.end(), found.begin(), found.end()));
}

TEST_P(StoreFiles, that_a_crash_of_the_machine_has_torn_is_repaired) {
  ASSERT_TRUE(in_a_killed_process(
      [&] { return home.open().ok() && home->Put(synced(), "key", "value").ok(); }));
  pool_detail::test_hooks().boot = pool_format::boot_id{1, 2, 3};
  const db::Status torn = home.open();
  if (home.is_on_disk()) {
    EXPECT_EQ(torn.ToString(), "OK");  // what was synced survives that
  } else {
    EXPECT_TRUE(torn.IsCorruption()) << torn.ToString();
    EXPECT_EQ(db::RepairDB(home.name(), home.options).ToString(), "OK");
    EXPECT_EQ(home.open().ToString(), "OK");
  }
  pool_detail::test_hooks().boot.reset();
  EXPECT_EQ(content_of(*home), (entries{{"key", "value"}}));
}

TEST_P(StoreFiles, whose_log_was_lost_is_torn) {
  ASSERT_TRUE(in_a_killed_process(
      [&] { return home.open().ok() && home->Put(synced(), "key", "value").ok(); }));
  if (!home.is_logged()) GTEST_SKIP() << "no log here";
  const std::string log = store_detail::log_of(home.file("store.pool"));
  ASSERT_TRUE(fs::remove(log));
  EXPECT_TRUE(home.open().IsCorruption());
  const db::Status repaired = db::RepairDB(home.name(), home.options);
  // What the log held may be everything.
  EXPECT_TRUE(repaired.ok() || repaired.IsCorruption()) << repaired.ToString();
}

}  // namespace
}  // namespace outlast::test
