// Goal: a thread provides space before updates need it. It disturbs neither a full region nor a
// forked child. Method: files that grow while no update runs; children that report by their exit
// status.
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast::tx {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::uint64_t space_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

/// A manager in a pool of its own.
template <domain::persistence_domain D>
struct bank {
  explicit bank(std::size_t replica_bytes, std::chrono::microseconds max_unsynced_time = {})
      : pool(new basic_pool<D>(basic_pool<D>::create(
            directory.file("pool"),
            {.size_bytes = 4 * replica_bytes, .per_operation_device_sync = true}))),
        manager(std::in_place, *pool, "bank",
                options{.replica_bytes = replica_bytes,
                        .replicas = 2,
                        .max_unsynced_time = max_unsynced_time}) {}

  void take(std::size_t bytes) {
    manager->update([=](view) { (void)alloc_bytes(bytes); });
  }

  test::temp_directory directory;
  std::unique_ptr<basic_pool<D>> pool;
  std::optional<redo_opt<D>> manager;
};

/// Does the file soon have more than is in use, in both replicas? Who makes space when it is needed
/// has just used it up, now and then.
bool gets_ahead(const std::string& path, std::size_t taken) {
  for (int tries = 0; tries < 5000; ++tries) {
    if (space_of(path) >= 2 * (taken + taken / 33)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// A child that destroys what it has got, as programs do at their end.
template <domain::persistence_domain D>
int status_of_child_that_drops(bank<D>& all) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    all.manager.reset();
    all.pool.reset();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Growth, makes_space_before_an_update_needs_it) {
  bank<domain::native> in(256 * mib);
  for (std::size_t taken = mib; taken < 200 * mib; taken += mib) {
    in.take(mib);
    if (taken > 64 * mib) {
      ASSERT_TRUE(gets_ahead(in.pool->path(), taken)) << taken;
    }
  }
}

TEST(Growth, of_a_region_ends_where_that_does) {
  bank<domain::native> in(96 * mib);
  std::size_t taken = 0;
  EXPECT_THROW(
      for (;;) {
        in.take(mib / 4);
        taken += mib / 4;
      },
      out_of_space);
  EXPECT_GT(taken, 90 * mib);
  in.take(64);
}

TEST(Growth, leaves_a_forked_child_nothing_to_wait_for) {
  bank<domain::native> in(256 * mib);
  for (int i = 0; i < 150; ++i) in.take(mib);
  EXPECT_EQ(status_of_child_that_drops(in), 0);
  in.take(mib);
}

TEST(Growth, of_windows_neither) {
  bank<domain::logged_file> in(8 * mib, std::chrono::milliseconds(1));
  in.take(64);
  EXPECT_EQ(status_of_child_that_drops(in), 0);
  in.take(64);
  in.manager->sync();
}

}  // namespace
}  // namespace outlast::tx
