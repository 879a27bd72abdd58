// Goal: an opener builds only upon bytes on the device, even after an earlier opener met a device
// that failed: the kernel then has pages in its cache that seem to be written and never are.
// Method: a device with two images of the pool's file: the stored bytes, and the bytes that have
// reached the media. A sync that fails nevertheless makes pages clean. The second image is checked.
#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/memory_folder.hpp>
#include <tests/support/whole_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <unistd.h>

namespace outlast {
namespace {

using domain::logged_file;
using logged_pool = basic_pool<logged_file>;
using test::word_at;

constexpr pool_options small{
    .size_bytes = 1 << 20, .capacity_bytes = 4 << 20, .log_bytes = 64 << 10};
/// Of what the kernel writes back: smaller than a page on some file systems.
constexpr std::size_t block = 1024;

/// The files' contents are what the cache shows; `media` is what a power cut leaves.
class forgetful_device final : public pool_detail::log_device {
 public:
  explicit forgetful_device(const std::string& path)
      : path_(path), log_path_(pool_detail::log_path_of(path)) {
    pool_detail::test_hooks().device = this;
    files_[path_].media = test::whole_file(path_);
  }
  ~forgetful_device() override { pool_detail::test_hooks().device = nullptr; }
  forgetful_device(const forgetful_device&) = delete;
  forgetful_device& operator=(const forgetful_device&) = delete;

  int write(const std::string& path, int fd, std::uint64_t offset, const void* from,
            std::size_t size) override {
    for (std::uint64_t at = offset / block; at <= (offset + size - 1) / block; ++at) {
      files_[path].dirty.insert(at);
    }
    return log_device::write(path, fd, offset, from, size);
  }
  int sync(const std::string& path, int fd) override {
    file& of = files_[path];
    std::set<std::uint64_t> written;
    written.swap(of.dirty);  // clean, whatever becomes of them
    if (fails && path == path_) return EIO;
    for (const std::uint64_t each : written) {
      std::string content(block, '\0');
      const ssize_t got =
          ::pread(fd, content.data(), content.size(), static_cast<off_t>(each * block));
      content.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (of.media.size() < each * block + content.size()) {
        of.media.resize(each * block + content.size());
      }
      of.media.replace(each * block, content.size(), content);
    }
    return 0;
  }
  void forget(const std::string& path, int fd) override {
    ++forgets;
    const file& of = files_[path];
    for (std::uint64_t at = 0; at * block < of.media.size(); ++at) {
      if (of.dirty.contains(at)) continue;
      const std::size_t size = std::min<std::size_t>(block, of.media.size() - at * block);
      (void)log_device::write(path, fd, at * block, &of.media[at * block], size);
    }
  }
  /// The power goes: the files are what the media have of them.
  void cut() {
    for (const std::string& path : {path_, log_path_}) {
      if (!std::filesystem::exists(path)) continue;
      std::ofstream(path, std::ios::binary | std::ios::trunc) << files_[path].media;
      files_[path].dirty.clear();
    }
  }
  /// As a domain that maps the file leaves it when a sync has failed.
  void show(std::uint64_t offset, std::uint64_t word) const {
    std::fstream in_cache(path_, std::ios::binary | std::ios::in | std::ios::out);
    in_cache.seekp(static_cast<std::streamoff>(offset));
    in_cache.write(reinterpret_cast<const char*>(&word), sizeof word);
  }

  bool fails = false;
  unsigned forgets = 0;

 private:
  struct file {
    std::string media;
    std::set<std::uint64_t> dirty;  // blocks
  };
  std::string path_;
  std::string log_path_;
  std::map<std::string, file> files_;
};

class LogCache : public testing::Test {
 protected:
  LogCache() { test::create_with_words<domain::process>(path(), small); }

  [[nodiscard]] std::string path() const { return (folder_.path() / "p").string(); }
  static void set(logged_pool& pool, std::uint64_t page, std::uint64_t value,
                  std::size_t word = 0) {
    std::uint64_t* const at = word_at(pool, page, word);
    *at = value;
    domain::persist<logged_file>(at, sizeof *at);
  }
  /// Builds upon what is found at one place, and after a power cut asks whether both are there.
  void expect_sound_foundation(forgetful_device& device, std::uint64_t page, std::size_t word) {
    std::uint64_t found = 0;
    {
      auto pool = logged_pool::open(path(), small);
      found = *word_at(pool, page, word);
      set(pool, 9, found + 100);
    }
    device.cut();
    auto pool = logged_pool::open(path(), small);
    EXPECT_EQ(*word_at(pool, 9), found + 100);
    EXPECT_EQ(*word_at(pool, page, word), found) << "it was built upon, and is not there";
  }

  test::scratch_folder folder_;
};

TEST_F(LogCache, of_a_checkpoint_that_failed_shows_nothing_that_the_device_lacks) {
  forgetful_device device(path());
  {
    auto pool = logged_pool::open(path(), small);
    set(pool, 0, 1);
    *word_at(pool, 0, 300) = 5;  // stored, not fenced, in another block of the page
    device.fails = true;
    EXPECT_THROW(logged_file::checkpoint(word_at(pool, 0)), error);
  }
  device.fails = false;
  expect_sound_foundation(device, 0, 300);
  auto pool = logged_pool::open(path(), small);
  EXPECT_EQ(*word_at(pool, 0), 1U);
}

TEST_F(LogCache, of_a_close_that_failed_shows_nothing_that_the_device_lacks) {
  forgetful_device device(path());
  {
    auto pool = logged_pool::open(path(), small);
    set(pool, 0, 1);
    *word_at(pool, 5) = 5;  // in a page that no batch has anything of
    device.fails = true;
    EXPECT_THROW(pool.close(), error);
  }
  device.fails = false;
  expect_sound_foundation(device, 5, 0);
}

TEST_F(LogCache, is_not_believed_by_other_domains_either) {
  forgetful_device device(path());
  {
    auto pool = logged_pool::open(path(), small);
    set(pool, 0, 1);
    *word_at(pool, 5) = 5;
    device.fails = true;
    EXPECT_THROW(pool.close(), error);
  }
  device.fails = false;
  auto pool = basic_pool<domain::process>::open(path());
  EXPECT_EQ(*word_at(pool, 0), 1U);
  EXPECT_EQ(*word_at(pool, 5), 0U);
}

TEST_F(LogCache, of_another_domains_failed_sync_is_not_built_upon) {
  std::uint64_t offset = 0;
  {
    auto pool = basic_pool<domain::file>::open(path());
    offset = reinterpret_cast<std::uintptr_t>(word_at(pool, 5)) - pool.base();
  }  // abandoned: dirty
  forgetful_device device(path());
  device.show(offset, 5);
  expect_sound_foundation(device, 5, 0);
}

TEST_F(LogCache, is_left_alone_where_the_pool_was_closed) {
  forgetful_device device(path());
  logged_pool::open(path(), small).close();
  logged_pool::open(path(), small).close();
  EXPECT_EQ(device.forgets, 0U);
}

/// The checkpoint's pages reach the media in part; the start and each line that was fenced are
/// there, whenever the device fails and however often the pool is opened meanwhile.
TEST_F(LogCache, of_failures_again_and_again_loses_no_fence) {
  forgetful_device device(path());
  std::uint64_t fenced = 0;
  for (unsigned round = 0; round < 12; ++round) {
    try {
      auto pool = logged_pool::open(path(), small);
      for (std::uint64_t page = 0; page < 7; ++page) {
        if (fenced < 7 && page >= fenced) break;
        ASSERT_EQ(*word_at(pool, page), (fenced - 1 - page) / 7 * 7 + page + 1) << round;
      }
      for (unsigned i = 0; i < 5; ++i) {
        set(pool, fenced % 7, fenced + 1);
        ++fenced;
      }
      device.fails = round % 3 != 2;
      if (round % 2 == 0) logged_file::checkpoint(word_at(pool, 0));
      pool.close();
    } catch (const error& failure) {
      EXPECT_EQ(failure.reason(), errc::io_failure) << failure.what();
    }
    device.fails = false;
    if (round % 4 == 1) device.cut();
  }
  EXPECT_EQ(fenced, 60U);
}

}  // namespace
}  // namespace outlast
