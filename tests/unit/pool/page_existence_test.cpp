// Goal: what a pool does not use goes back to the file system, and is used again; where the file
// system is full then, that is refused, not met by an access.
// Method: runs of a root that is dropped; blocks of the file are counted, before and after; a file
// system that allocates nothing.
#include <outlast/base/error.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/detail/seams.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <sys/stat.h>

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
    }
    if (round == 1 && domain::logs_lines<TypeParam>) break;  // nothing is, before the close
    pool_detail::test_seams().fallocate_fails = ENOSPC;
    EXPECT_THROW(fill(*this->pool, "another", 3), out_of_space);
    pool_detail::test_seams().fallocate_fails = 0;
    this->pool.abandon();
  }
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
