// Goal: a batch that finds no room on the file system has no effect, and the pool stays usable; the
// lines of fences stay queued.
// Method: a file system that allocates nothing more, and devices that have no room for some writes.
#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace outlast {
namespace {

using domain::logged_file;
using logged_pool = basic_pool<logged_file>;
using pool_format::first_batch_offset;
using pool_format::page_bytes;
using test::word_at;

constexpr pool_options small{
    .size_bytes = 2 << 20, .capacity_bytes = 4 << 20, .log_bytes = 64 << 10};

void set(logged_pool& pool, std::uint64_t page, std::uint64_t value) {
  std::uint64_t* const at = word_at(pool, page);
  *at = value;
  domain::persist<logged_file>(at, sizeof *at);
}

std::atomic<std::uint64_t>& atomic_at(logged_pool& pool, std::uint64_t page) {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(word_at(pool, page));
}

/// The file system is full: no file gets any space.
struct full_disk {
  full_disk() { pool_detail::test_hooks().fallocate_fails = ENOSPC; }
  ~full_disk() { pool_detail::test_hooks().fallocate_fails = 0; }
  full_disk(const full_disk&) = delete;
  full_disk& operator=(const full_disk&) = delete;
};

/// Has no room for the selected writes.
class choosy_device final : public pool_detail::log_device {
 public:
  choosy_device() { pool_detail::test_hooks().device = this; }
  ~choosy_device() override { pool_detail::test_hooks().device = nullptr; }
  choosy_device(const choosy_device&) = delete;
  choosy_device& operator=(const choosy_device&) = delete;

  int write(const std::string& path, int fd, std::uint64_t offset, const void* from,
            std::size_t size) override {
    if (refuses && refuses(path, offset)) return ENOSPC;
    return log_device::write(path, fd, offset, from, size);
  }
  int sync(const std::string&, int) override { return 0; }

  std::function<bool(const std::string& path, std::uint64_t offset)> refuses;
};

class LogRoom : public testing::Test {
 protected:
  /// What a kill leaves is opened again.
  logged_pool& open() {
    pool_.reset();
    pool_ = std::make_unique<holder>(path());
    return pool_->pool;
  }
  [[nodiscard]] std::string path() const { return (folder_.path() / "p").string(); }
  [[nodiscard]] std::string log_path() const { return pool_detail::log_path_of(path()); }

  /// Content for lines of many pages: a batch of 256 KiB, where the log has 64.
  struct many_lines {
    many_lines(logged_pool& pool, std::uint64_t value) {
      content.fill(value);
      for (std::uint64_t page = 1; page <= 64; ++page) {
        for (std::size_t line = 0; line < 64; ++line) {
          stores.push_back({reinterpret_cast<std::byte*>(word_at(pool, page, 8 * line)),
                            reinterpret_cast<const std::byte*>(content.data())});
        }
      }
    }
    alignas(64) std::array<std::uint64_t, 8> content;
    std::vector<domain::line_store> stores;
  };
  static void expect_in_many_lines(logged_pool& pool, std::uint64_t value) {
    for (std::uint64_t page = 1; page <= 64; ++page) {
      for (std::size_t word = 0; word < page_bytes / 8; word += 31) {
        ASSERT_EQ(*word_at(pool, page, word), value) << "page " << page;
      }
    }
  }

 private:
  struct holder {
    explicit holder(const std::string& path) : pool(logged_pool::open_or_create(path, small)) {}
    logged_pool pool;
  };
  test::scratch_folder folder_;
  std::unique_ptr<holder> pool_;
};

TEST_F(LogRoom, a_word_with_more_lines_than_there_is_room_for_has_no_effect) {
  auto& pool = open();
  logged_file::publish(atomic_at(pool, 0), 1, many_lines(pool, 1).stores);
  open();
  {
    auto& full_pool = open();
    const full_disk full;
    const many_lines wanted(full_pool, 2);
    EXPECT_THROW(logged_file::publish(atomic_at(full_pool, 0), 2, wanted.stores), std::bad_alloc);
    EXPECT_FALSE(logged_file::poisoned(word_at(full_pool, 0)));
    EXPECT_EQ(atomic_at(full_pool, 0), 1U);
    expect_in_many_lines(full_pool, 1);
    set(full_pool, 70, 7);
    logged_file::publish(atomic_at(full_pool, 0), 3);
  }
  auto& found = open();
  EXPECT_EQ(atomic_at(found, 0), 3U);
  expect_in_many_lines(found, 1);
  EXPECT_EQ(*word_at(found, 70), 7U);
  logged_file::publish(atomic_at(found, 0), 4, many_lines(found, 4).stores);
  expect_in_many_lines(open(), 4);
}

TEST_F(LogRoom, the_lines_of_fences_find_room_in_the_log_that_is_there) {
  {
    auto& pool = open();
    const std::uint64_t length = std::filesystem::file_size(log_path());
    set(pool, 0, 1);
    const full_disk full;
    for (std::uint64_t value = 2; value <= 3; ++value) {
      for (std::uint64_t page = 1; page <= 100; ++page) {
        std::memset(word_at(pool, page), static_cast<int>(value), page_bytes);
        domain::flush<logged_file>(word_at(pool, page), page_bytes);
      }
      logged_file::stage();
      logged_file::publish(atomic_at(pool, 0), value);
    }
    EXPECT_EQ(std::filesystem::file_size(log_path()), length);
  }
  auto& found = open();
  EXPECT_EQ(atomic_at(found, 0), 3U);
  for (std::uint64_t page = 1; page <= 100; ++page) {
    ASSERT_EQ(*word_at(found, page, 99), 0x0303'0303'0303'0303U) << "page " << page;
  }
}

TEST_F(LogRoom, a_checkpoint_without_room_is_made_later) {
  choosy_device device;
  {
    auto& pool = open();
    device.refuses = [&](const std::string& file, std::uint64_t offset) {
      return file == path() && offset >= page_bytes;
    };
    unsigned refused = 0;
    for (std::uint64_t value = 1; value <= 40; ++value) {
      try {
        set(pool, value % 5, value);
      } catch (const std::bad_alloc&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 10U);
    EXPECT_FALSE(logged_file::poisoned(word_at(pool, 0)));
    EXPECT_THROW(logged_file::checkpoint(word_at(pool, 0)), std::bad_alloc);
    device.refuses = nullptr;
    logged_file::psync();  // has what the fences before it did not make durable
  }
  {
    auto& found = open();
    for (std::uint64_t value = 36; value <= 40; ++value) {
      EXPECT_EQ(*word_at(found, value % 5), value);
    }
    logged_file::checkpoint(word_at(found, 0));
  }
  open();
}

TEST_F(LogRoom, a_fence_without_room_in_the_log_is_made_later) {
  choosy_device device;
  {
    auto& pool = open();
    set(pool, 0, 1);
    device.refuses = [&](const std::string& file, std::uint64_t offset) {
      return file == log_path() && offset >= first_batch_offset;
    };
    EXPECT_THROW(set(pool, 1, 2), std::bad_alloc);
    EXPECT_THROW(set(pool, 2, 3), std::bad_alloc);
    EXPECT_FALSE(logged_file::poisoned(word_at(pool, 0)));
    device.refuses = nullptr;
    set(pool, 3, 4);
  }
  auto& found = open();
  for (std::uint64_t page = 0; page < 4; ++page) EXPECT_EQ(*word_at(found, page), page + 1);
}

}  // namespace
}  // namespace outlast
