// Goal: an error of the device that the kernel reports to one sync of a pool's file also stops the
// other syncs under way. Method: a device that reports it only to the first sync, late.
#include <outlast/domain.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace outlast {
namespace {

using domain::logged_file;
using logged_pool = basic_pool<logged_file>;

constexpr pool_options sizes{
    .size_bytes = 1 << 20, .capacity_bytes = 4 << 20, .log_bytes = 64 << 10};

/// Reports an error of the pool's file to the first sync of it that asks, and takes its time.
class slow_to_tell final : public pool_detail::log_device {
 public:
  slow_to_tell() { pool_detail::test_hooks().device = this; }
  ~slow_to_tell() override { pool_detail::test_hooks().device = nullptr; }

  int sync(const std::string& path, int) override {
    if (!armed.load() || path.ends_with(".redo")) return 0;
    if (asked.fetch_add(1) != 0) return 0;
    for (int i = 0; i < 200 && !answered.load(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return EIO;
  }

  std::atomic<bool> armed{false};
  std::atomic<int> asked{0};
  std::atomic<bool> answered{false};
};

TEST(CheckpointOfALog, hears_of_an_error_that_another_sync_was_given) {
  test::scratch_folder folder;
  slow_to_tell device;
  auto pool = logged_pool::create((folder.path() / "p").string(), sizes);
  std::uint64_t* const word = test::word_at(pool, 0);
  *word = 1;
  logged_file::pwb(word);
  logged_file::psync();
  device.armed = true;
  std::jthread other([&] { EXPECT_THROW(logged_file::sync_through(word), error); });
  while (device.asked.load() == 0) std::this_thread::yield();
  EXPECT_THROW(logged_file::checkpoint(word), error);
  device.answered = true;
}

}  // namespace
}  // namespace outlast
