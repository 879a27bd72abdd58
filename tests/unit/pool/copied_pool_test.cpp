// Goal: a pool that was not closed opens in the file in which it was open, wherever that file is,
// and its copy is refused. A closed pool opens anywhere.
// Method: copies of an open pool, and records of its file that are changed by hand.
#include <outlast/domain.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/reasons.hpp>
#include <tests/support/temp_pool.hpp>
#include <tests/support/whole_file.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <fcntl.h>
#include <linux/magic.h>

namespace outlast {
namespace {

namespace fs = std::filesystem;
using pool_format::file_identity;
using test::reason_of;
using test::temp_directory;

constexpr pool_options small{.size_bytes = 1 << 20};

template <class Pool>
void make_root(Pool& target, std::uint64_t value) {
  const attached_root root = target.attach_root("x", "number", 1, true);
  auto* const object = static_cast<std::uint64_t*>(target.pages().allocate_run(
      pool_format::run_kind::large, root.index, 1, 1, pool_format::page_bytes));
  *object = value;
  target.publish_root(root.index, object);
  target.detach_root(root.index, true);
}

template <class Pool>
std::uint64_t value_in(Pool& target) {
  const attached_root root = target.attach_root("x", "number", 1, true);
  const std::uint64_t value = *reinterpret_cast<std::uint64_t*>(target.base() + root.object_offset);
  target.detach_root(root.index, false);
  return value;
}

bool is_sound(const std::string& path) {
  return !pool_format::has_errors(pool_format::check_file(path));
}

/// Changes what is recorded in a pool's file of the file itself.
void edit_identity(const std::string& path, const std::function<void(file_identity&)>& edit) {
  const std::string bytes = test::whole_file(path);
  pool_format::header_page page{};
  std::memcpy(static_cast<void*>(&page), bytes.data(), sizeof page);
  file_identity identity{};
  const auto offset = page.fixed.line_table_offset;
  std::memcpy(&identity, &bytes[offset], sizeof identity);
  edit(identity);
  pool_format::seal(identity);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(reinterpret_cast<const char*>(&identity), sizeof identity);
}

/// On a file system that is known to keep its inodes, wherever that is.
class CopiedPool : public testing::Test {
 protected:
  void SetUp() override { pool_detail::test_hooks().file_system = EXT4_SUPER_MAGIC; }
  void TearDown() override { pool_detail::test_hooks() = {}; }

  void kill_one() {
    auto killed = pool::create(path_, small);
    make_root(killed, 42);
  }
  void copy() { fs::copy_file(path_, copy_, fs::copy_options::overwrite_existing); }
  static void boot() {
    pool_format::boot_id another{};
    another.fill(7);
    pool_detail::test_hooks().boot = another;
  }
  void expect_content(const std::string& path, const pool_options& options = {}) {
    auto opened = pool::open(path, options);
    EXPECT_EQ(value_in(opened), 42u);
  }

  temp_directory directory_;
  std::string path_ = directory_.file("p");
  std::string copy_ = directory_.file("copy");
};

template <class D>
class copied_pools : public CopiedPool {};
using mapping_domains = testing::Types<domain::process, domain::adr, domain::cache_persistent,
                                       domain::file, domain::native>;
TYPED_TEST_SUITE(copied_pools, mapping_domains);

TYPED_TEST(copied_pools, of_an_open_one_is_refused_unless_it_may_be_torn) {
  using pool_type = basic_pool<TypeParam>;
  auto original = pool_type::create(this->path_, small);
  make_root(original, 42);
  this->copy();
  EXPECT_EQ(reason_of([&] { (void)pool_type::open(this->copy_); }), errc::torn_by_copying);
  EXPECT_FALSE(is_sound(this->copy_));
  auto opened = pool_type::open(this->copy_, {.open_torn = true});
  EXPECT_TRUE(opened.was_dirty());
  const attached_root root = opened.attach_root("x", "number", 1, true);
  EXPECT_EQ(root.state, root_state::needs_recovery);
  EXPECT_TRUE(is_sound(this->path_));
}

TYPED_TEST(copied_pools, of_a_closed_one_opens_and_is_known_from_then_on) {
  using pool_type = basic_pool<TypeParam>;
  {
    auto original = pool_type::create(this->path_, small);
    make_root(original, 42);
    original.close();
  }
  this->copy();
  for (int life = 0; life < 2; ++life) {  // both killed
    auto opened = pool_type::open(this->copy_);
    EXPECT_EQ(opened.was_dirty(), life != 0);
    EXPECT_EQ(value_in(opened), 42u);
    opened.grow(opened.size_bytes() + 4096);
  }
  EXPECT_TRUE(is_sound(this->copy_));
  fs::rename(this->copy_, this->path_);
  auto moved = pool_type::open(this->path_);
  EXPECT_EQ(value_in(moved), 42u);
}

TEST_F(CopiedPool, says_what_to_do) {
  kill_one();
  copy();
  try {
    (void)pool::open(copy_);
    FAIL();
  } catch (const error& refused) {
    const std::string sentence = refused.what();
    EXPECT_NE(sentence.find(copy_), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("outlast backup"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("open_torn"), std::string::npos) << sentence;
  }
}

TEST_F(CopiedPool, that_was_refused_is_untouched) {
  kill_one();
  copy();
  const std::string before = test::whole_file(copy_);
  EXPECT_EQ(reason_of([&] { (void)pool::open(copy_); }), errc::torn_by_copying);
  EXPECT_TRUE(before == test::whole_file(copy_));
}

TEST_F(CopiedPool, that_salvage_opens) {
  kill_one();
  copy();
  expect_content(copy_, {.salvage = true});
  expect_content(copy_);
}

TEST_F(CopiedPool, opens_after_the_one_that_was_torn_has_been_closed) {
  kill_one();
  copy();
  {
    auto opened = pool::open(copy_, {.open_torn = true});
    opened.close();
  }
  expect_content(copy_);
  expect_content(copy_);
}

TEST_F(CopiedPool, of_which_the_header_is_older_than_the_rest_is_refused) {
  pool::create(path_, small).close();
  const std::string closed = test::whole_file(path_);
  auto open = pool::open(path_);
  copy();
  std::fstream file(copy_, std::ios::in | std::ios::out | std::ios::binary);
  file.write(closed.data(), pool_format::page_bytes);
  file.close();
  EXPECT_EQ(reason_of([&] { (void)pool::open(copy_); }), errc::torn_by_copying);
  const auto opened = pool::open(copy_, {.open_torn = true});
  EXPECT_TRUE(opened.was_dirty());
}

TEST_F(CopiedPool, in_a_file_with_the_number_of_the_removed_one_is_refused) {
  kill_one();
  edit_identity(path_, [](file_identity& recorded) { recorded.born -= 1; });
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::torn_by_copying);
}

TEST_F(CopiedPool, on_a_snapshot_of_its_device_is_refused_during_the_same_boot) {
  {
    auto killed = basic_pool<domain::file>::create(path_, small);
    make_root(killed, 42);
  }
  edit_identity(path_, [](file_identity& recorded) { recorded.device += 1; });
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::torn_by_copying);
  boot();  // which may number devices anew
  expect_content(path_);
}

TEST_F(CopiedPool, of_a_synced_one_opens_after_a_crash_of_the_machine_in_its_own_file_alone) {
  {
    auto killed = basic_pool<domain::file>::create(path_, small);
    make_root(killed, 42);
  }
  copy();
  boot();
  EXPECT_EQ(reason_of([&] { (void)pool::open(copy_); }), errc::torn_by_copying);
  expect_content(path_);
}

TEST_F(CopiedPool, of_which_nothing_is_recorded_opens_as_ever) {
  kill_one();
  copy();
  edit_identity(copy_, [](file_identity& recorded) { recorded = {}; });
  expect_content(copy_);
}

/// Programs that record nothing have opened it since.
TEST_F(CopiedPool, of_which_an_earlier_state_is_recorded_opens_as_ever) {
  kill_one();
  copy();
  edit_identity(copy_, [](file_identity& recorded) { recorded.generation -= 1; });
  expect_content(copy_);
}

TEST_F(CopiedPool, whose_record_is_damaged_opens_as_ever) {
  kill_one();
  edit_identity(path_, [](file_identity& recorded) {
    recorded.inode += 1;
    recorded.word = 1;
  });
  expect_content(path_);
}

TEST_F(CopiedPool, on_a_file_system_that_numbers_files_anew_opens_as_ever) {
  pool_detail::test_hooks().file_system = 0x65735546;  // FUSE
  kill_one();
  copy();
  expect_content(copy_);
}

TEST_F(CopiedPool, opens_where_it_was_adopted) {
  kill_one();
  copy();
  const pool_detail::unique_fd file(::open(copy_.c_str(), O_RDWR | O_CLOEXEC));
  pool_detail::adopt_copy(copy_, file.get());
  EXPECT_TRUE(is_sound(copy_));
  expect_content(copy_);
  expect_content(path_);
}

}  // namespace
}  // namespace outlast
