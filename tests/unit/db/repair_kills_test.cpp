// Goal: a repair that is killed at any system call, or meets a device that is full or broken at
// any, loses nothing: the store opens with all its data, and what the repair replaces is there as
// it was. Method: this program's own open(), rename() and so on, which the library calls, count;
// the n-th call ends the process, or fails, for each n.
#include <tests/support/store_bytes.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// What happens at which call.
struct plan {
  std::atomic<long> calls{0};  ///< that were made
  long fatal = 0;              ///< the call before which the process ends; 0: none
  long failing = 0;            ///< the call that fails
  bool refuses_links = false;
  std::string unreadable;  ///< a file of which a page cannot be read
  off_t unread_page = 0;
  std::vector<std::string>* trace = nullptr;  ///< gets what changes names, and syncs
};
plan now;

std::string path_of(int file) {
  std::array<char, 4096> path{};
  const std::string self = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(self.c_str(), path.data(), path.size());
  return size < 0 ? "" : std::string(path.data(), static_cast<std::size_t>(size));
}
void note(const char* call, const std::string& path) {
  if (now.trace == nullptr) return;
  now.trace->push_back(call + (" " + path.substr(path.rfind("/store/") + 7)));
}

/// 0, or the errno with which the call fails.
int next_call(int failure) {
  const long number = now.calls.fetch_add(1) + 1;
  if (number == now.fatal) ::_exit(9);
  return number == now.failing ? failure : 0;
}

/// What a call answers that fails, unless it is to be made.
template <class Call>
int made(int failure, Call&& call) {
  const int failed = next_call(failure);
  if (failed == 0) return static_cast<int>(call());
  errno = failed;
  return -1;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  const auto call = [&] { return ::syscall(SYS_openat, AT_FDCWD, path, flags, mode); };
  if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) == 0) return static_cast<int>(call());
  return made(ENOSPC, call);
}
int rename(const char* from, const char* to) noexcept {
  note("rename to", to);
  return made(EIO, [&] { return ::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0); });
}
int unlink(const char* path) noexcept {
  note("unlink", path);
  return made(EIO, [&] { return ::syscall(SYS_unlinkat, AT_FDCWD, path, 0); });
}
int rmdir(const char* path) noexcept {
  return made(EIO, [&] { return ::syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  return made(ENOSPC, [&] { return ::syscall(SYS_mkdirat, AT_FDCWD, path, mode); });
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (now.refuses_links && std::string_view(to).find("/lost/") != std::string_view::npos) {
    errno = EPERM;
    return -1;
  }
  note("link to", to);
  return made(ENOSPC,
              [&] { return ::syscall(SYS_linkat, from_folder, from, to_folder, to, flags); });
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  return made(ENOSPC, [&] { return ::syscall(SYS_pwrite64, file, bytes, size, at); });
}
ssize_t pread(int file, void* bytes, size_t size, off_t at) {
  constexpr off_t page = 4096;
  if (!now.unreadable.empty() && at < now.unread_page + page &&
      at + static_cast<off_t>(size) > now.unread_page && path_of(file) == now.unreadable) {
    errno = EIO;
    return -1;
  }
  return ::syscall(SYS_pread64, file, bytes, size, at);
}
int fsync(int file) {
  if (now.trace != nullptr) note("sync", path_of(file) + "/");
  return made(EIO, [&] { return ::syscall(SYS_fsync, file); });
}
int fdatasync(int file) {
  if (now.trace != nullptr) note("sync", path_of(file) + "/");
  return made(EIO, [&] { return ::syscall(SYS_fdatasync, file); });
}
int ftruncate(int file, off_t size) noexcept {
  return made(ENOSPC, [&] { return ::syscall(SYS_ftruncate, file, size); });
}
/// Without the space, which takes its time.
int fallocate(int file, int mode, off_t at, off_t size) {
  return made(ENOSPC, [&] {
    struct stat status{};
    if (mode != 0 || ::fstat(file, &status) != 0 || status.st_size >= at + size) return 0L;
    return ::syscall(SYS_ftruncate, file, at + size);
  });
}

}  // extern "C"

namespace outlast::test {
namespace {

namespace fs = std::filesystem;

constexpr int keys = 300;

std::string key_of(int i) { return "key" + std::to_string(1000 + i); }
std::string text_of(int i) { return std::string(100, static_cast<char>('a' + i % 26)); }

/// Where the page begins that holds `text`; -1: none does.
off_t page_with(const std::string& path, const std::string& text) {
  constexpr off_t page = 4096;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string bytes(page, '\0');
  off_t found = -1;
  for (off_t at = 0; found < 0 && (at = ::lseek(file, at, SEEK_DATA)) >= 0; at += page) {
    if (::pread(file, bytes.data(), bytes.size(), at) != page) break;
    if (bytes.find(text) != std::string::npos) found = at;
  }
  ::close(file);
  return found;
}

/// Stores that a kill has left, from which repairs begin.
class RepairThatIsCutOff : public testing::TestWithParam<place> {
 protected:
  RepairThatIsCutOff() : home_(GetParam()) {
    home_.more.capacity_bytes = std::size_t{1} << 20;
    home_.more.replicas = 2;
  }

  /// `is_clean`: it was closed.
  void make_template(bool is_clean) {
    const auto fill = [&] {
      bool good = home_.open().ok();
      for (int i = 0; i < keys; ++i) good = good && home_->Put({}, key_of(i), text_of(i)).ok();
      return good && home_->Write(synced(), nullptr).ok();
    };
    if (is_clean) {
      ASSERT_TRUE(fill());
      home_.close();
    } else {
      ASSERT_TRUE(in_a_killed_process(fill));
    }
    fs::remove(home_.file("LOG"));
    fs::remove(home_.file("LOG.old"));
    ASSERT_EQ(std::system(("cp -a --sparse=always " + home_.name() + " " + kept()).c_str()), 0);
    names_ = names_in(kept());
  }
  void begin() const {
    fs::remove_all(home_.name());
    ASSERT_EQ(std::system(("cp -a --sparse=always " + kept() + " " + home_.name()).c_str()), 0);
    adopt(home_.file("store.pool"));
    // Where the store is must not tell the files apart.
    copy_identity(home_.file("store.pool"), kept() + "/store.pool");
  }
  /// The line of a pool's page 0: docs/formats/pool.md.
  static void copy_identity(const std::string& from, const std::string& to) {
    constexpr std::streamoff place_of_table = 120;
    std::fstream source(from, std::ios::in | std::ios::binary);
    std::fstream target(to, std::ios::in | std::ios::out | std::ios::binary);
    std::uint64_t table = 0;
    std::array<char, 64> line{};
    source.seekg(place_of_table).read(reinterpret_cast<char*>(&table), sizeof table);
    source.seekg(static_cast<std::streamoff>(table)).read(line.data(), line.size());
    ASSERT_TRUE(source);
    ASSERT_TRUE(target.seekp(static_cast<std::streamoff>(table)).write(line.data(), line.size()));
  }
  [[nodiscard]] std::string kept() const { return home_.name() + "-template"; }

  /// In a process of its own. The number of calls that it made; 0 if it was killed.
  template <class Life>
  long calls_in(long fatal, bool refuses_links, Life&& life) const {
    const std::string counted = home_.name() + "-calls";
    fs::remove(counted);
    const ::pid_t child = ::fork();
    if (child == 0) {
      now.calls = 0;
      now.refuses_links = refuses_links;
      now.fatal = fatal;
      const bool good = life();
      now.fatal = 0;
      std::ofstream(counted) << now.calls.load();
      ::_exit(good ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9));
    long calls = 0;
    std::ifstream(counted) >> calls;
    return WEXITSTATUS(status) == 9 ? 0 : calls;
  }
  [[nodiscard]] bool repair() const { return db::RepairDB(home_.name(), home_.options).ok(); }

  void expect_everything(const std::string& when) {
    ASSERT_EQ(home_.open().ToString(), "OK") << when;
    std::string counted;
    EXPECT_TRUE(home_->GetProperty("outlast.keys", &counted));
    EXPECT_EQ(counted, std::to_string(keys)) << when;
    for (int i = 0; i < keys; ++i) ASSERT_EQ(value_of(*home_, key_of(i)), text_of(i)) << when;
    EXPECT_EQ(home_->Put({}, "new", "value").ToString(), "OK") << when;
    EXPECT_EQ(home_->Delete({}, "new").ToString(), "OK") << when;
    home_.close();
    for (const std::string& name : names_in(home_.name())) {
      const bool is_known =
          name == "store.pool" || name == "LOCK" || name == "lost" || name.starts_with("LOG");
      EXPECT_TRUE(is_known) << name << " " << when;
    }
  }
  /// The files that a repair has replaced, as they were, or none.
  void expect_originals(const std::string& when, bool repairs_again) const {
    if (!fs::exists(home_.file("lost"))) return;
    std::vector<std::string> expected = {"000001.pool"};
    const bool has_log = fs::exists(kept() + "/store.pool.redo");
    if (has_log) expected.emplace_back("000001.pool.redo");
    std::vector<std::string> names = names_in(home_.file("lost"));
    if (repairs_again) std::erase(names, "000002.pool");  // the first repair had been completed
    EXPECT_EQ(names, expected) << when;
    EXPECT_TRUE(are_equal(home_.file("lost/000001.pool"), kept() + "/store.pool")) << when;
    if (!has_log) return;
    EXPECT_TRUE(are_equal(home_.file("lost/000001.pool.redo"), kept() + "/store.pool.redo"))
        << when;
  }
  static db::WriteOptions synced() {
    db::WriteOptions options;
    options.sync = true;
    return options;
  }

  void kill_at_each_call(bool is_clean, bool refuses_links) {
    make_template(is_clean);
    begin();
    const long all = calls_in(0, refuses_links, [&] { return repair(); });
    EXPECT_GT(all, 20);  // there is something to be cut off
    // Of many calls that write the new store some; of those that change names each.
    for (long n = 1;; n += n + 40 < all ? 1 + all / 30 : 1) {
      begin();
      const std::string when = "killed before call " + std::to_string(n);
      const long calls = calls_in(n, refuses_links, [&] { return repair(); });
      const bool repairs_again = n % 3 == 0 && calls == 0;
      if (repairs_again) {
        EXPECT_TRUE(repair()) << when;
      }
      expect_everything(when);
      expect_originals(when, repairs_again);
      if (HasFailure()) return;
      if (calls == 0) continue;
      EXPECT_TRUE(fs::exists(home_.file("lost/000001.pool")));
      return;
    }
  }

  store_home home_;
  std::vector<std::string> names_;
};

INSTANTIATE_TEST_SUITE_P(everywhere, RepairThatIsCutOff,
                         testing::Values(place::memory_files, place::disk, place::record_files,
                                         place::record_disk),
                         testing::PrintToStringParamName());

TEST_P(RepairThatIsCutOff, loses_nothing_of_a_killed_store) { kill_at_each_call(false, false); }

TEST_P(RepairThatIsCutOff, loses_nothing_of_a_closed_store) { kill_at_each_call(true, false); }

TEST_P(RepairThatIsCutOff, loses_nothing_where_files_have_one_name) {
  kill_at_each_call(false, true);
}

TEST_P(RepairThatIsCutOff, loses_nothing_where_files_always_have_names) {
  pool_detail::test_hooks().no_unnamed_files = true;
  kill_at_each_call(true, false);
  pool_detail::test_hooks().no_unnamed_files = false;
}

/// A conversion leaves the old store or the new one.
TEST_P(RepairThatIsCutOff, loses_nothing_of_a_conversion) {
  make_template(true);
  db::StoreOptions other = home_.more;
  other.engine = home_.has_records() ? db::StoreEngine::kReplicas : db::StoreEngine::kRecords;
  const auto convert = [&] { return db::ConvertDB(home_.name(), home_.options, other).ok(); };
  home_.more.engine = db::StoreEngine::kAutomatic;
  for (const bool refuses_links : {false, true}) {
    begin();
    const long all = calls_in(0, refuses_links, convert);
    EXPECT_GT(all, 15);
    for (long n = 1; n <= all; n += n + 40 < all ? 1 + all / 30 : 1) {
      begin();
      const std::string when = "killed before call " + std::to_string(n);
      const long calls = calls_in(n, refuses_links, convert);
      if (n % 3 == 0 && calls == 0) {
        EXPECT_TRUE(convert()) << when;
      }
      expect_everything(when);
      if (HasFailure()) return;
    }
    begin();
    EXPECT_GT(calls_in(0, refuses_links, convert), 0);
    EXPECT_FALSE(fs::exists(home_.file("lost")));
    home_.more.engine = other.engine;
    expect_everything("converted");
    home_.more.engine = db::StoreEngine::kAutomatic;
  }
}

/// What settles a repair that was cut off while it changed names may be cut off too.
TEST_P(RepairThatIsCutOff, may_be_followed_by_openings_that_are) {
  make_template(false);
  for (const bool refuses_links : {false, true}) {
    begin();
    const long all = calls_in(0, refuses_links, [&] { return repair(); });
    ASSERT_GT(all, 20);
    for (long n = std::max(1L, all - 10); n <= all; ++n) {
      for (long m = 1; m < 7; ++m) {
        begin();
        static_cast<void>(calls_in(n, refuses_links, [&] { return repair(); }));
        static_cast<void>(calls_in(m, refuses_links, [&] { return home_.open().ok(); }));
        const std::string when = std::to_string(n) + " and " + std::to_string(m);
        expect_everything(when);
        expect_originals(when, false);
        if (HasFailure()) return;
      }
    }
  }
}

/// A power cut keeps what was synced: names change only when what they name, and what is needed to
/// go back, is durable.
TEST_P(RepairThatIsCutOff, changes_names_in_an_order_that_a_power_cut_keeps) {
  make_template(false);
  std::vector<std::string> trace;
  now.trace = &trace;
  const bool good = repair();
  now.trace = nullptr;
  ASSERT_TRUE(good);
  const std::vector<std::string> expected = {"link to lost/000001.pool", "sync lost/", "sync ",
                                             "rename to store.pool", "sync "};
  auto at = std::find(trace.begin(), trace.end(), expected.front());
  const auto named = std::find(trace.begin(), at, "link to store.rescued");
  const auto synced = [](const std::string& call) { return call.starts_with("sync #"); };
  EXPECT_TRUE(std::any_of(named, at, synced));  // a file that had no name when it was opened
  for (const std::string& each : expected) {
    ASSERT_NE(at, trace.end()) << each;
    EXPECT_EQ(*at++, each);
  }
  if (!home_.is_logged()) return;
  ASSERT_EQ(trace.end() - at, 2);
  EXPECT_EQ(at[0], "unlink store.pool.redo");
  EXPECT_EQ(at[1], "sync ");
}

/// As a device with a bad sector.
TEST_P(RepairThatIsCutOff, goes_around_what_the_device_does_not_give_back) {
  if (!home_.is_on_disk()) GTEST_SKIP() << "memory gives back everything";
  make_template(true);
  // The first page of a segment has its header.
  const std::string inside = home_.has_records() ? key_of(150) : text_of(150);
  now.unread_page = page_with(home_.file("store.pool"), inside);
  ASSERT_GT(now.unread_page, 0);
  now.unreadable = home_.file("store.pool");
  const db::Status repaired = db::RepairDB(home_.name(), home_.options);
  now.unreadable.clear();
  ASSERT_EQ(repaired.ToString(), "OK");
  std::ifstream log(home_.file("LOG"));
  const std::string told{std::istreambuf_iterator<char>(log), {}};
  EXPECT_NE(told.find("4096 bytes of"), std::string::npos) << told;
  EXPECT_NE(told.find("cannot be read from the device"), std::string::npos) << told;
  ASSERT_EQ(home_.open().ToString(), "OK");
  std::string counted;
  EXPECT_TRUE(home_->GetProperty("outlast.keys", &counted));
  EXPECT_LT(std::stoi(counted), keys);
  EXPECT_GT(std::stoi(counted), keys / 2);
  home_.close();
  EXPECT_TRUE(are_equal(home_.file("lost/000001.pool"), kept() + "/store.pool"));
}

/// Each call fails once, as on a file system that is full, or a device that breaks.
TEST_P(RepairThatIsCutOff, leaves_all_as_it_was_where_a_call_fails) {
  make_template(false);
  begin();
  const long all = calls_in(0, false, [&] { return repair(); });
  int refused = 0;
  for (long n = 1; n <= all; ++n) {
    begin();
    now.calls = 0;
    now.failing = n;
    const db::Status status = db::RepairDB(home_.name(), home_.options);
    now.failing = 0;
    const std::string when = "call " + std::to_string(n) + ": " + status.ToString();
    if (!status.ok()) ++refused;
    if (!status.ok() && !fs::exists(home_.file("lost"))) {
      std::vector<std::string> names = names_in(home_.name());
      std::erase_if(names, [](const std::string& name) { return name.starts_with("LOG"); });
      EXPECT_EQ(names, names_) << when;
      EXPECT_TRUE(are_equal(home_.file("store.pool"), kept() + "/store.pool")) << when;
    }
    expect_everything(when);
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace outlast::test
