// Goal: what a store cannot open it refuses with the right status and leaves as it is; where there
// is no space it says so, and loses nothing. Method: foreign, cut, newer and read-only files; small
// file systems, limits and capacities.
#include <outlast/base/hash.hpp>
#include <outlast/pool/format.hpp>
#include <tests/support/store_home.hpp>
#include <tests/support/whole_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>

namespace outlast::test {
namespace {

namespace fs = std::filesystem;

class BadStore : public testing::TestWithParam<place> {
 protected:
  BadStore() : home(GetParam()) {
    home.more.capacity_bytes = std::size_t{4} << 20;
    home.more.replicas = 2;
  }

  [[nodiscard]] std::string data() const { return home.file("store.pool"); }
  void make(int keys = 10) {
    ASSERT_EQ(home.open().ToString(), "OK");
    for (int i = 0; i < keys; ++i) ASSERT_TRUE(home->Put({}, std::to_string(i), "value").ok());
    home.close();
  }
  /// Bytes at the begin of the data, where the tables are.
  [[nodiscard]] std::string begin_of_data() const {
    std::string bytes(1 << 16, '\0');
    std::ifstream(data(), std::ios::binary).read(bytes.data(), std::ssize(bytes));
    return bytes;
  }
  void overwrite(std::size_t at, const std::string& bytes) const {
    std::fstream file(data(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(bytes.data(), std::ssize(bytes));
  }

  store_home home;
};

INSTANTIATE_TEST_SUITE_P(everywhere, BadStore,
                         testing::Values(place::memory_files, place::disk, place::record_files,
                                         place::record_disk),
                         testing::PrintToStringParamName());

TEST_P(BadStore, of_another_kind_of_file_is_corrupt) {
  fs::create_directory(home.name());
  for (const std::string& bytes : {std::string(), std::string("short"), std::string(100'000, 'x'),
                                   std::string(1 << 20, '\0')}) {
    std::ofstream(data(), std::ios::binary) << bytes;
    const db::Status refused = home.open();
    EXPECT_TRUE(refused.IsCorruption()) << refused.ToString();
    EXPECT_NE(refused.ToString().find(data()), std::string::npos) << refused.ToString();
    EXPECT_EQ(fs::file_size(data()), bytes.size());
    EXPECT_TRUE(db::RepairDB(home.name(), home.options).IsCorruption());
  }
}

TEST_P(BadStore, that_was_cut_off_is_corrupt) {
  make();
  const std::uintmax_t whole = fs::file_size(data());
  for (const std::uintmax_t size : {whole - 1, whole - 4096, whole / 2, whole / 100,
                                    std::uintmax_t{4096}, std::uintmax_t{100}}) {
    fs::resize_file(data(), size);
    const db::Status refused = home.open();
    EXPECT_TRUE(refused.IsCorruption()) << size << ": " << refused.ToString();
  }
}

TEST_P(BadStore, of_a_newer_format_or_another_machine_is_not_supported) {
  make();
  const std::string good = begin_of_data();
  const auto with = [&](const std::function<void(pool_format::header_page&)>& change) {
    pool_format::header_page page{};
    std::memcpy(static_cast<void*>(&page), good.data(), sizeof page);
    change(page);
    seal(page);
    // Another machine's checksum is in its order too.
    if (page.fixed.endian != pool_format::endian_tag) {
      page.fixed.checksum = __builtin_bswap64(page.fixed.checksum);
    }
    overwrite(0, std::string(reinterpret_cast<const char*>(&page), sizeof page));
    return home.open();
  };
  const db::Status newer =
      with([](auto& page) { page.fixed.format_version = pool_format::version + 1; });
  EXPECT_TRUE(newer.IsNotSupportedError()) << newer.ToString();
  const db::Status foreign = with([](auto& page) { page.fixed.endian = 0x0807060504030201; });
  EXPECT_TRUE(foreign.IsNotSupportedError()) << foreign.ToString();
  overwrite(0, good);
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home).size(), 10U);
}

TEST_P(BadStore, of_newer_facts_is_not_supported) {
  make();
  // The version is the word before the name of the order, as far as that fits into its place.
  const std::string all = test::whole_file(data());
  const std::string facts("\1\0\0\0\0\0\0\0", 8);
  int changed = 0;
  for (std::size_t at = all.find("leveldb.BytewiseComparator"); at != std::string::npos;
       at = all.find("leveldb.BytewiseComparator", at + 1)) {
    // The string lies in a block of its own: the facts are the only object of 32 bytes that begins
    // with a version and names 26 bytes.
    for (std::size_t word = at & ~std::size_t{7}; word > at - 65'536 && word >= 32; word -= 8) {
      std::uint64_t size = 0;
      std::memcpy(&size, all.data() + word + 8, sizeof size);
      if (all.compare(word, 8, facts) != 0 || (size & 0xffffffff) != 26) continue;
      overwrite(word, "\2");
      ++changed;
      break;
    }
  }
  if (changed == 0) GTEST_SKIP() << "the facts were not found in the file";
  const db::Status newer = home.open();
  EXPECT_TRUE(newer.IsNotSupportedError()) << newer.ToString();
}

TEST_P(BadStore, that_cannot_be_written_is_an_io_error) {
  make();
  if (::geteuid() == 0) {
    // Nothing is forbidden to root: another user tries, in a process of its own.
    fs::permissions(home.name(),
                    fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
    fs::permissions(fs::path(home.name()).parent_path(),
                    fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
    EXPECT_TRUE(in_a_killed_process([&] {
      constexpr ::uid_t nobody = 65'534;
      return ::setgid(nobody) == 0 && ::setuid(nobody) == 0 && home.open().IsIOError();
    }));
  } else {
    fs::permissions(home.name(), fs::perms::owner_read | fs::perms::owner_exec);
    fs::permissions(home.file("LOCK"), fs::perms::owner_read);
    EXPECT_TRUE(home.open().IsIOError());
    fs::permissions(home.name(), fs::perms::owner_all);
    fs::permissions(home.file("LOCK"), fs::perms::owner_all);
  }
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home).size(), 10U);
}

/// Puts until there is no space; answers what it was told then.
db::Status fill(db::DB& store, std::map<std::string, std::string>& model, std::size_t value_bytes) {
  for (int i = 0; i < 1'000'000; ++i) {
    const std::string key = std::to_string(100'000 + i);
    const std::string value = key + std::string(value_bytes, 'v');
    const db::Status status = store.Put({}, key, value);
    if (!status.ok()) return status;
    model[key] = value;
  }
  return {};
}

entries entries_of(const std::map<std::string, std::string>& model) {
  return {model.begin(), model.end()};
}

TEST_P(BadStore, that_is_full_says_so_and_has_room_again_after_deletions) {
  ASSERT_EQ(home.open().ToString(), "OK");
  std::map<std::string, std::string> model;
  const db::Status full = fill(*home, model, 1000);
  EXPECT_TRUE(full.IsIOError()) << full.ToString();
  EXPECT_NE(full.ToString().find("capacity_bytes of " + std::to_string(home.more.capacity_bytes)),
            std::string::npos)
      << full.ToString();
  const char* const remedy = home.has_records() ? "a larger capacity_bytes" : "load a dump";
  EXPECT_NE(full.ToString().find(remedy), std::string::npos) << full.ToString();
  EXPECT_GT(model.size(), 2000U);
  EXPECT_EQ(content_of(*home) == entries_of(model), true);
  db::WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", std::string(4 << 20, 'b'));
  EXPECT_TRUE(home->Write({}, &batch).IsIOError());
  EXPECT_EQ(value_of(*home, "a"), "(none)");
  // Deletions need no space.
  for (auto it = model.begin(); model.size() > 1000; it = model.erase(it)) {
    ASSERT_EQ(home->Delete({}, it->first).ToString(), "OK");
  }
  EXPECT_EQ(content_of(*home) == entries_of(model), true);
  for (int i = 0; i < 500; ++i) {
    const std::string key = "again " + std::to_string(i);
    model[key] = std::string(1000, 'a');
    ASSERT_EQ(home->Put({}, key, model[key]).ToString(), "OK") << i;
  }
  home.options.paranoid_checks = true;
  ASSERT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home) == entries_of(model), true);
}

TEST_P(BadStore, that_is_full_of_what_snapshots_keep_has_room_when_they_are_gone) {
  ASSERT_EQ(home.open().ToString(), "OK");
  std::map<std::string, std::string> model;
  for (int i = 0; i < 1000; ++i) {
    model[std::to_string(i)] = std::string(1000, 'a');
    ASSERT_TRUE(home->Put({}, std::to_string(i), model[std::to_string(i)]).ok());
  }
  const db::Snapshot* const then = home->GetSnapshot();
  const entries before = entries_of(model);
  std::vector<const db::Snapshot*> more;
  db::Status full;
  for (int round = 0; full.ok(); ++round) {
    const std::string key = std::to_string(round % 1000);
    const std::string value(1000, static_cast<char>('b' + round % 20));
    full = home->Put({}, key, value);
    if (full.ok()) model[key] = value;
    if (round % 100 == 0) more.push_back(home->GetSnapshot());
  }
  EXPECT_TRUE(full.IsIOError()) << full.ToString();
  db::ReadOptions old;
  old.snapshot = then;
  EXPECT_EQ(content_of(*home, old) == before, true);
  for (const auto& [key, value] : model) ASSERT_EQ(value_of(*home, key), value);
  home->ReleaseSnapshot(then);
  for (const db::Snapshot* each : more) home->ReleaseSnapshot(each);
  home->CompactRange(nullptr, nullptr);
  for (int i = 0; i < 1000; ++i) {
    model[std::to_string(i)] = std::string(1000, 'z');
    ASSERT_EQ(home->Put({}, std::to_string(i), model[std::to_string(i)]).ToString(), "OK") << i;
  }
  EXPECT_EQ(content_of(*home) == entries_of(model), true);
}

TEST_P(BadStore, on_a_full_file_system_says_so_and_loses_nothing) {
  fs::create_directory(home.name());
  if (::mount("outlast", home.name().c_str(), "tmpfs", 0, "size=48m") != 0) {
    GTEST_SKIP() << "file systems may not be mounted here";
  }
  std::map<std::string, std::string> model;
  home.more.capacity_bytes = std::size_t{256} << 20;
  // In a process of its own: what is wrong may end it.
  EXPECT_TRUE(in_a_killed_process([&] {
    if (const db::Status status = home.open(); !status.ok()) {
      std::cerr << status.ToString() << '\n';
      return false;
    }
    const db::Status full = fill(*home, model, 10'000);
    if (!full.IsIOError()) std::cerr << full.ToString() << '\n';
    bool good = full.IsIOError() && model.size() > 100;
    good = good && content_of(*home) == entries_of(model);
    return good && value_of(*home, "100000") == model["100000"];
  }));
  for (int i = 0; i < 50; ++i) {
    const std::string key = std::to_string(100'000 + i);
    model[key] = key + std::string(10'000, 'v');
  }
  {
    // What was acknowledged is there, where a kill takes nothing away.
    const db::Status again = home.open();
    if (again.ok()) {
      for (const auto& [key, value] : model) {
        EXPECT_EQ(value_of(*home, key) == value, true) << key;
        EXPECT_EQ(home->Delete({}, key).ToString(), "OK");
      }
      EXPECT_EQ(home->Put({}, "again", "value").ToString(), "OK");
    } else {
      EXPECT_TRUE(again.IsIOError()) << again.ToString();
    }
    home.close();
  }
  ::umount(home.name().c_str());
}

TEST_P(BadStore, under_a_limit_on_file_sizes_says_so_and_loses_nothing) {
  make();
  const std::string other = home.name();
  EXPECT_TRUE(in_a_killed_process([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{std::size_t{1} << 20, std::size_t{1} << 20};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    // A new one does not fit.
    db::DB* made = nullptr;
    const db::Status refused = db::DB::Open(home.options, home.more, other + "-2", &made);
    return refused.IsIOError() && made == nullptr;
  }));
  EXPECT_EQ(home.open().ToString(), "OK");
  EXPECT_EQ(content_of(*home).size(), 10U);
}

}  // namespace
}  // namespace outlast::test
