// Goal: a device error poisons the pool that it concerns, is reported by each later fence, and
// leaves the other pools alone.
// Method: two mappings registered as pools, and injected errors.
#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/domain/file_device.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <thread>

namespace outlast::domain {
namespace {

constexpr std::size_t pool_size = std::size_t{1} << 16;

/// Memory that the domain takes for a pool in a file.
class fake_pool {
 public:
  explicit fake_pool(const std::string& path)
      : bytes_(static_cast<std::byte*>(
            mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    file::pool_opened(bytes_, pool_size, path);
  }
  ~fake_pool() {
    file::pool_closed(bytes_);
    munmap(bytes_, pool_size);
  }
  fake_pool(const fake_pool&) = delete;
  fake_pool& operator=(const fake_pool&) = delete;

  [[nodiscard]] std::byte* at(std::size_t offset) const { return bytes_ + offset; }

 private:
  std::byte* bytes_;
};

class File : public testing::Test {
 protected:
  void TearDown() override { file::fail_next_syncs(0, 0); }

  /// Notes a page of `pool` and syncs; the error, if there is one.
  static std::string failure_of_persist(const fake_pool& pool) {
    file::pwb(pool.at(100));
    try {
      file::psync();
    } catch (const error& failure) {
      EXPECT_EQ(failure.reason(), errc::io_failure);
      return failure.what();
    }
    return "";
  }

  fake_pool first{"/pools/first"};
  fake_pool second{"/pools/second"};
};

TEST_F(File, a_sync_that_succeeds_poisons_nothing) {
  EXPECT_EQ(failure_of_persist(first), "");
  EXPECT_FALSE(file::poisoned(first.at(0)));
}

TEST_F(File, a_sync_without_a_noted_page_asks_the_device_for_nothing) {
  file::fail_next_syncs(1, EIO);
  EXPECT_NO_THROW(file::psync());
  EXPECT_NE(failure_of_persist(first), "") << "the injected error was still there";
}

TEST_F(File, a_sync_counts_each_page_that_it_was_asked_for_once) {
  const std::uint64_t syncs = file::device_syncs();
  const std::uint64_t pages = file::synced_pages();
  for (const unsigned offset : {0U, 5000U, 100U, 5001U, 20000U}) file::pwb(first.at(offset));
  file::psync();
  EXPECT_EQ(file::device_syncs() - syncs, 1U);
  EXPECT_EQ(file::synced_pages() - pages, 3U);
}

TEST_F(File, a_sync_waits_for_streamed_bytes) {
  const std::uint64_t pages = file::synced_pages();
  const std::string bytes(5000, 'a');
  file::stream(first.at(100), bytes.data(), bytes.size());
  file::stream(first.at(100), bytes.data(), 0);
  EXPECT_EQ(std::memcmp(first.at(100), bytes.data(), bytes.size()), 0);
  file::psync();
  EXPECT_EQ(file::synced_pages() - pages, 2U);
  file::stream(first.at(100), bytes.data(), bytes.size());
  file::fail_next_syncs(1, EIO);
  EXPECT_THROW(file::psync(), error);
}

TEST_F(File, a_device_error_names_the_pool_and_the_cause) {
  file::fail_next_syncs(1, ENOSPC);
  const std::string message = failure_of_persist(first);
  EXPECT_NE(message.find("/pools/first"), std::string::npos) << message;
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
}

TEST_F(File, a_poisoned_pool_stays_poisoned_though_the_device_recovers) {
  file::fail_next_syncs(1, EIO);
  EXPECT_NE(failure_of_persist(first), "");
  EXPECT_TRUE(file::poisoned(first.at(0)));
  EXPECT_TRUE(file::poisoned(first.at(pool_size - 1)));
  EXPECT_NE(failure_of_persist(first), "") << "a later success proves nothing about lost pages";
}

TEST_F(File, another_pool_is_not_concerned) {
  file::fail_next_syncs(1, EIO);
  EXPECT_NE(failure_of_persist(first), "");
  EXPECT_EQ(failure_of_persist(second), "");
  EXPECT_FALSE(file::poisoned(second.at(0)));
}

TEST_F(File, an_error_on_one_page_does_not_keep_the_others_from_being_synced) {
  file::pwb(first.at(0));
  file::pwb(second.at(0));
  file::fail_next_syncs(1, EIO);
  EXPECT_THROW(file::psync(), error);
  EXPECT_NE(file::poisoned(first.at(0)), file::poisoned(second.at(0)));
  file::fail_next_syncs(1, EIO);
  EXPECT_NO_THROW(file::psync()) << "nothing is left to sync";
}

/// The kernel reports an error to one sync: that of another thread, which may be slow to tell.
TEST_F(File, an_error_that_another_threads_sync_was_given_is_everybodys) {
  std::atomic<int> asked{0};
  std::atomic<bool> answered{false};
  replace_file_device([&](const std::string&, std::uint64_t, std::size_t) {
    if (asked.fetch_add(1) != 0) return 0;
    while (asked.load() < 2) std::this_thread::yield();
    for (int i = 0; i < 200 && !answered.load(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return EIO;
  });
  std::string slow;
  std::thread taker([&] { slow = failure_of_persist(first); });
  while (asked.load() < 1) std::this_thread::yield();
  const std::string mine = failure_of_persist(first);
  answered.store(true);
  taker.join();
  replace_file_device({});
  EXPECT_NE(slow, "");
  EXPECT_NE(mine, "")
      << "durable according to the domain, while the error of its page was on its way";
}

TEST_F(File, a_sync_that_lacks_memory_leaves_its_pages_to_the_next) {
  int asked = 0;
  replace_file_device([&](const std::string&, std::uint64_t, std::size_t) {
    if (++asked == 1) throw std::bad_alloc();
    return 0;
  });
  file::pwb(first.at(0));
  EXPECT_THROW(file::psync(), std::bad_alloc);
  file::psync();
  replace_file_device({});
  EXPECT_EQ(asked, 2);
}

TEST_F(File, an_error_of_the_parents_pool_is_not_that_of_a_childs_at_the_same_address) {
  file::fail_next_syncs(1, EIO);
  EXPECT_NE(failure_of_persist(first), "");
  const pid_t child = ::fork();
  if (child == 0) {
    file::pool_opened(first.at(0), pool_size, "/pools/childs");
    ::_exit(failure_of_persist(first).empty() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(file::poisoned(first.at(0)));
}

TEST_F(File, memory_of_no_pool_is_never_poisoned) {
  static std::byte elsewhere{};
  EXPECT_FALSE(file::poisoned(&elsewhere));
}

}  // namespace
}  // namespace outlast::domain
