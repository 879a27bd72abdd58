// Goal: free pages of a pool return to the file system and are used again. If the file system is
// full by then, the allocation is refused, and no access fails.
// Method: runs of a root that is dropped; blocks of the file are counted, before and after; a file
// system that allocates nothing.
#include <outlast/base/error.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast {
namespace {

constexpr std::size_t page = pool_format::page_bytes;
constexpr std::uint32_t run_pages = 512;
constexpr int runs = 8;
constexpr std::size_t all_bytes = runs * run_pages * page;

std::size_t bytes_of(const std::string& path) {
  struct stat found{};
  EXPECT_EQ(::stat(path.c_str(), &found), 0);
  return static_cast<std::size_t>(found.st_blocks) * 512;
}

template <domain::persistence_domain D>
std::vector<void*> fill(basic_pool<D>& pool, const char* name, int content) {
  const attached_root root = pool.attach_root(name, "t", 1, true);
  std::vector<void*> made;
  for (int i = 0; i < runs; ++i) {
    made.push_back(pool.pages().allocate_run(pool_format::run_kind::large, root.index, 1, run_pages,
                                             run_pages * page));
    std::memset(made.back(), content, run_pages * page);
  }
  pool.publish_root(root.index, made.front());
  pool.detach_root(root.index, false);
  return made;
}

template <class Domain>
class PagesGivenBack : public testing::Test {
 protected:
  test::temp_pool<Domain> pool{std::size_t{64} << 20};
};
using domains = testing::Types<domain::process, domain::file, domain::logged_file>;
TYPED_TEST_SUITE(PagesGivenBack, domains);

TYPED_TEST(PagesGivenBack, are_no_blocks_of_the_file) {
  fill(*this->pool, "stays", 1);
  fill(*this->pool, "goes", 2);
  this->pool.close();
  const std::size_t before = bytes_of(this->pool.path());
  this->pool.open();
  this->pool->drop_root("goes");
  if (!domain::logs_lines<TypeParam>) {
    EXPECT_LE(bytes_of(this->pool.path()) + all_bytes, before + all_bytes / 8);
  }
  this->pool.close();
  EXPECT_LE(bytes_of(this->pool.path()) + all_bytes, before + all_bytes / 8);
  this->pool.open();
  const attached_root root = this->pool->attach_root("stays", "t", 1, true);
  const auto* const at = reinterpret_cast<const char*>(this->pool->base() + root.object_offset);
  for (std::size_t i = 0; i < run_pages * page; ++i) ASSERT_EQ(at[i], 1);
  this->pool->detach_root(root.index, false);
  fill(*this->pool, "another", 3);
  this->pool.close();
  EXPECT_LE(bytes_of(this->pool.path()), before + all_bytes / 8);
}

TYPED_TEST(PagesGivenBack, are_refused_where_the_file_system_is_full) {
  fill(*this->pool, "goes", 2);
  this->pool->drop_root("goes");
  this->pool.close();
  for (int round = 0; round < 2; ++round) {
    this->pool.open();
    if (round == 1) {  // given back by this process
      fill(*this->pool, "goes", 2);
      this->pool->drop_root("goes");
      this->pool->trim();
    }
    pool_detail::test_hooks().fallocate_fails = ENOSPC;
    EXPECT_THROW(fill(*this->pool, "another", 3), out_of_space);
    pool_detail::test_hooks().fallocate_fails = 0;
    this->pool.abandon();
  }
}

TYPED_TEST(PagesGivenBack, are_no_blocks_after_a_trim) {
  fill(*this->pool, "stays", 1);
  fill(*this->pool, "goes", 2);
  const std::size_t before = bytes_of(this->pool.path());
  this->pool->drop_root("goes");
  this->pool->trim();
  EXPECT_LE(bytes_of(this->pool.path()) + all_bytes, before + all_bytes / 8);
  fill(*this->pool, "goes", 3);
  this->pool->drop_root("goes");
  this->pool.abandon();  // before they are given back, if there is a log
  this->pool.open();
  this->pool->trim();
  EXPECT_LE(bytes_of(this->pool.path()) + all_bytes, before + all_bytes / 8);
}

/// An older version gave nothing back.
TYPED_TEST(PagesGivenBack, may_be_those_of_another_process) {
  fill(*this->pool, "stays", 1);
  const std::size_t at = this->pool->pages().offset_of(fill(*this->pool, "goes", 2).front());
  fill(*this->pool, "stays, too", 1);
  const std::size_t before = bytes_of(this->pool.path());
  this->pool->drop_root("goes");
  this->pool.close();
  const int file = ::open(this->pool.path().c_str(), O_RDWR);
  ASSERT_EQ(::fallocate(file, 0, static_cast<off_t>(at), all_bytes), 0);
  ::close(file);
  constexpr std::size_t end_of_file = 1 << 20;  // the close has cut it off
  EXPECT_GE(bytes_of(this->pool.path()) + end_of_file, before);
  this->pool.open();
  this->pool->trim();
  EXPECT_LE(bytes_of(this->pool.path()) + all_bytes, before + all_bytes / 8);
  EXPECT_EQ(this->pool->pages().check(), "");
}

TYPED_TEST(PagesGivenBack, are_waited_for) {
  const std::uint32_t nearly_all = this->pool->pages().limit() * 3 / 4;
  const attached_root root = this->pool->attach_root("all", "t", 1, true);
  const auto use_all = [&] {
    auto& pages = this->pool->pages();
    pages.free_run(pages.allocate_run(pool_format::run_kind::large, root.index, 1, nearly_all,
                                      nearly_all * page));
  };
  use_all();
  std::atomic<bool> is_done = false;
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) EXPECT_NO_THROW(use_all()) << i;
    is_done = true;
  });
  while (!is_done) this->pool->trim();
  other.join();
  this->pool->detach_root(root.index, false);
}

TEST(PagesGivenBackByThis, are_those_of_no_other) {
  test::temp_pool<domain::process> pool(std::size_t{64} << 20);
  const std::vector<void*> kept = fill(*pool, "stays", 1);
  for (int round = 0; round < 20; ++round) {
    const std::vector<void*> made = fill(*pool, "goes", 2);
    for (const void* each : made) EXPECT_EQ(static_cast<const char*>(each)[page], 2);
    pool->drop_root("goes");
  }
  for (const void* each : kept) EXPECT_EQ(static_cast<const char*>(each)[run_pages * page - 1], 1);
  EXPECT_LE(bytes_of(pool.path()), all_bytes + all_bytes / 4);
}

}  // namespace
}  // namespace outlast
