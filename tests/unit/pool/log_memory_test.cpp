// Goal: pages whose owner leaves all stores to the log take memory only while their newest content
// is in the log alone, and their content is right. No other pages are dropped, and none whose
// content the file lacks.
// Method: lines published in many pages, the kernel's record of the process's own pages, and
// devices that refuse some writes.
#include <outlast/base/anonymous_memory.hpp>
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
using pool_format::page_bytes;
using test::word_at;

constexpr pool_options room{.size_bytes = 40 << 20, .log_bytes = 8 << 20};

/// Refuses the selected writes, with an errno.
class refusing_device final : public pool_detail::log_device {
 public:
  refusing_device() { pool_detail::test_hooks().device = this; }
  ~refusing_device() override { pool_detail::test_hooks().device = nullptr; }
  refusing_device(const refusing_device&) = delete;
  refusing_device& operator=(const refusing_device&) = delete;

  int write(const std::string& path, int fd, std::uint64_t offset, const void* from,
            std::size_t size) override {
    const int refused = refuses ? refuses(path, offset) : 0;
    return refused != 0 ? refused : log_device::write(path, fd, offset, from, size);
  }
  int sync(const std::string&, int) override { return 0; }

  std::function<int(const std::string& path, std::uint64_t offset)> refuses;
};

class LogMemory : public testing::Test {
 protected:
  static constexpr std::uint64_t few = 64;
  static constexpr std::uint64_t many = 4000;  // of which a copy is worth a checkpoint

  /// What a kill leaves is opened again. The last pages but the one of the word have an owner.
  logged_pool& open(std::uint64_t pages = few) {
    pool_.reset();
    pool_ = std::make_unique<holder>(path());
    owned_ = pages;
    owner_ = logged_file::own({first(), pages * page_bytes, 0, pages * page_bytes});
    at_opening_ = logged_file::counters(first()).checkpoints;
    return pool_->pool;
  }
  [[nodiscard]] logged_pool& pool() { return pool_->pool; }
  [[nodiscard]] std::byte* first() { return reinterpret_cast<std::byte*>(word_at(pool(), owned_)); }
  [[nodiscard]] std::string path() const { return (folder_.path() / "p").string(); }
  [[nodiscard]] std::uint64_t private_pages() {
    return base::private_bytes(first(), owned_ * page_bytes) / page_bytes;
  }
  /// A line of each of the owner's pages from `begin` on and before `end` gets `value`.
  void publish(std::uint64_t value, std::uint64_t begin, std::uint64_t end, std::size_t line = 0) {
    alignas(64) std::array<std::uint64_t, 8> content;
    content.fill(value);
    std::vector<domain::line_store> stores;
    for (std::uint64_t page = begin; page < end; ++page) {
      stores.push_back({reinterpret_cast<std::byte*>(word_at(pool(), 1 + page, 8 * line)),
                        reinterpret_cast<const std::byte*>(content.data())});
    }
    auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(word_at(pool(), 0));
    logged_file::publish(word, value, stores);
  }
  void expect(std::uint64_t value, std::uint64_t begin, std::uint64_t end, std::size_t line = 0) {
    for (std::uint64_t page = begin; page < end; ++page) {
      ASSERT_EQ(*word_at(pool(), 1 + page, 8 * line), value) << "page " << page;
    }
  }
  void disown() { logged_file::disown(first(), owner_); }
  void checkpoint() { logged_file::checkpoint(first()); }
  [[nodiscard]] std::uint64_t checkpoints() {
    return logged_file::counters(first()).checkpoints - at_opening_;
  }

 private:
  struct holder {
    explicit holder(const std::string& path) : pool(logged_pool::open_or_create(path, room)) {}
    logged_pool pool;
  };
  test::scratch_folder folder_;
  std::unique_ptr<holder> pool_;
  std::uint64_t owned_ = few;
  std::uint64_t owner_ = 0;
  std::uint64_t at_opening_ = 0;
};

TEST_F(LogMemory, is_free_of_an_owners_pages_after_a_checkpoint) {
  open();
  publish(1, 0, few);
  EXPECT_EQ(private_pages(), few);
  checkpoint();
  EXPECT_EQ(private_pages(), 0U);
  expect(1, 0, few);
  publish(2, 0, few / 2, 1);
  EXPECT_EQ(private_pages(), few / 2);
  expect(1, 0, few);
  expect(2, 0, few / 2, 1);
  expect(0, few / 2, few, 1);
  open();
  expect(1, 0, few);
  expect(2, 0, few / 2, 1);
}

TEST_F(LogMemory, keeps_pages_without_an_owner) {
  open(few / 2);
  publish(1, 0, few);
  auto* const others = reinterpret_cast<std::byte*>(word_at(pool(), few));
  constexpr std::size_t half = few / 2 * page_bytes;
  checkpoint();
  EXPECT_EQ(private_pages(), 0U);
  EXPECT_EQ(base::private_bytes(others, half), half);
  disown();
  publish(2, few / 2 - 9, few / 2);
  checkpoint();
  EXPECT_EQ(private_pages(), 9U);
  EXPECT_EQ(base::private_bytes(others, half), half);
}

TEST_F(LogMemory, keeps_what_a_checkpoint_did_not_bring_into_the_file) {
  refusing_device device;
  open();
  publish(1, 0, few);
  const std::uint64_t offset_of_last =
      reinterpret_cast<std::uintptr_t>(word_at(pool(), 1)) - pool().base();
  device.refuses = [&](const std::string& file, std::uint64_t offset) {
    return file == path() && offset == offset_of_last ? ENOSPC : 0;
  };
  EXPECT_THROW(checkpoint(), std::bad_alloc);
  EXPECT_EQ(private_pages(), few);
  publish(2, 0, 1, 1);
  device.refuses = nullptr;
  checkpoint();
  EXPECT_EQ(private_pages(), 0U);
  expect(1, 0, few);
  expect(2, 0, 1, 1);

  publish(3, 0, few, 2);
  device.refuses = [&](const std::string& file, std::uint64_t offset) {
    return file == path() && offset == offset_of_last ? EIO : 0;
  };
  EXPECT_THROW(checkpoint(), error);
  EXPECT_EQ(private_pages(), few);
  device.refuses = nullptr;
  open();
  expect(1, 0, few);
  expect(3, 0, few, 2);
}

TEST_F(LogMemory, does_not_wait_for_a_full_log_where_much_is_stored_once) {
  open(many);
  constexpr std::uint64_t at_once = many / 10;
  for (std::uint64_t begin = 0; begin < many; begin += at_once) {
    publish(begin + 1, begin, begin + at_once);
    EXPECT_LE(private_pages(), (8 << 20) / page_bytes);
  }
  EXPECT_EQ(checkpoints(), 1U);
  for (std::uint64_t begin = 0; begin < many; begin += at_once) {
    expect(begin + 1, begin, begin + at_once);
  }
}

// To have them come back again and again costs more than to keep them.
TEST_F(LogMemory, keeps_what_is_stored_to_again_and_again_until_there_is_rest) {
  open(many);
  for (std::uint64_t value = 1; value <= 5; ++value) publish(value, 0, many);
  EXPECT_EQ(checkpoints(), 1U) << "after the first";
  EXPECT_EQ(private_pages(), many);
  checkpoint();
  EXPECT_EQ(private_pages(), many);
  logged_file::relieve(first());
  EXPECT_EQ(private_pages(), 0U);
  expect(5, 0, many);
  publish(6, 0, many);
  publish(7, 0, 100);
  EXPECT_EQ(checkpoints(), 2U);
  EXPECT_EQ(private_pages(), many);
  logged_file::relieve(first());
  EXPECT_EQ(checkpoints(), 3U);
  EXPECT_EQ(private_pages(), 0U);
  publish(8, 0, 100);
  logged_file::relieve(first());
  EXPECT_EQ(private_pages(), 100U) << "which is not worth a checkpoint";
  open(many);
  expect(8, 0, 100);
  expect(6, 100, many);
}

}  // namespace
}  // namespace outlast
