// Goal: a pool whose address range is taken opens elsewhere, its roots report the base of their
// pointers, and an interrupted relocation is resumed. Method: the test occupies the old range, or
// requests another base; roots hold one absolute pointer to themselves.
#include <outlast/domain.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <set>

#include <sys/mman.h>

namespace outlast {
namespace {

using test::temp_directory;

constexpr pool_options small{.size_bytes = 1 << 20};
constexpr std::size_t gib = std::size_t{1} << 30;

/// Takes an address range away for as long as it lives.
class squatter {
 public:
  explicit squatter(std::uintptr_t address)
      : mapped_(::mmap(reinterpret_cast<void*>(address), 4096, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)) {
    EXPECT_NE(mapped_, MAP_FAILED);
  }
  ~squatter() { ::munmap(mapped_, 4096); }
  squatter(const squatter&) = delete;
  squatter& operator=(const squatter&) = delete;

 private:
  void* mapped_;
};

/// A pool with a root "self" that holds its own address; returns the pool's base.
std::uintptr_t make_pool(const std::string& path, bool relocatable, std::uint32_t pages = 1) {
  auto target = pool::create(path, small);
  const attached_root root = target.attach_root("self", "pointer", 1, relocatable);
  auto* const object = static_cast<std::uintptr_t*>(target.pages().allocate_run(
      pool_format::run_kind::large, root.index, 1, pages, pages * 4096));
  *object = reinterpret_cast<std::uintptr_t>(object);
  target.publish_root(root.index, object);
  target.detach_root(root.index, true);
  const std::uintptr_t base = target.base();
  target.close();
  return base;
}

std::uintptr_t& object_of(pool& target, const attached_root& root) {
  return *reinterpret_cast<std::uintptr_t*>(target.base() + root.object_offset);
}

TEST(relocation, opens_elsewhere_and_moves_a_root) {
  temp_directory directory;
  const std::uintptr_t old_base = make_pool(directory.file("p"), true);
  std::uintptr_t new_base = 0;
  {
    const squatter taken(old_base);
    auto target = pool::open(directory.file("p"));
    new_base = target.base();
    ASSERT_NE(new_base, old_base);
    const attached_root root = target.attach_root("self", "pointer", 1, true);
    EXPECT_EQ(root.pointers_base, old_base);
    object_of(target, root) += new_base - old_base;
    target.root_relocated(root.index);
    target.detach_root(root.index, true);
    EXPECT_EQ(target.attach_root("self", "pointer", 1, true).pointers_base, new_base);
    target.close();
  }
  auto again = pool::open(directory.file("p"));
  EXPECT_EQ(again.base(), new_base);
  const attached_root root = again.attach_root("self", "pointer", 1, true);
  EXPECT_EQ(root.pointers_base, new_base);
  EXPECT_EQ(object_of(again, root), reinterpret_cast<std::uintptr_t>(&object_of(again, root)));
}

TEST(relocation, refuses_a_root_that_cannot_move_and_goes_home_for_it) {
  temp_directory directory;
  const std::uintptr_t old_base = make_pool(directory.file("p"), false);
  {
    const squatter taken(old_base);
    auto target = pool::open(directory.file("p"));
    try {
      (void)target.attach_root("self", "pointer", 1, false);
      FAIL();
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), errc::address_taken);
      EXPECT_NE(std::string(refused.what()).find(directory.file("p")), std::string::npos);
    }
    target.close();
  }
  auto home = pool::open(directory.file("p"));
  EXPECT_EQ(home.base(), old_base);
  EXPECT_NO_THROW((void)home.attach_root("self", "pointer", 1, false));
}

TEST(relocation, takes_no_room_that_overlaps_what_pointers_may_point_into) {
  temp_directory directory;
  (void)make_pool(directory.file("p"), true);
  auto file = pool_detail::mapped_file::open(directory.file("p"));
  std::set<std::uintptr_t> offered;
  file.reserve_anywhere(1 << 20, [&](std::uintptr_t address) {
    offered.insert(address);
    return offered.size() == 3;
  });
  EXPECT_EQ(offered.size(), 3u);
  EXPECT_EQ(offered.count(reinterpret_cast<std::uintptr_t>(file.base())), 1u);
  pool_format::header_page header{};
  header.fixed.format_version = pool_format::version_1;
  auto other = pool_detail::mapped_file::create(directory.file("q"), header, {}, 4096);
  EXPECT_THROW(other.reserve_anywhere(1 << 20, [](std::uintptr_t) { return false; }), error);
}

TEST(relocation, is_resumed_at_the_place_where_a_crash_interrupted_it) {
  temp_directory directory;
  const std::uintptr_t old_base = make_pool(directory.file("p"), true);
  std::uintptr_t new_base = 0;
  {
    const squatter taken(old_base);
    auto killed = pool::open(directory.file("p"));
    new_base = killed.base();
    (void)killed.attach_root("self", "pointer", 1, true);
  }
  auto again = pool::open(directory.file("p"));
  EXPECT_EQ(again.base(), new_base);
  const attached_root root = again.attach_root("self", "pointer", 1, true);
  EXPECT_EQ(root.pointers_base, old_base);
  EXPECT_EQ(root.state, root_state::needs_recovery);
}

TEST(relocation, remembers_every_base_that_pointers_may_have) {
  temp_directory directory;
  const std::uintptr_t first = make_pool(directory.file("p"), true);
  const squatter taken_first(first);
  std::uintptr_t second = 0;
  {
    auto killed = pool::open(directory.file("p"));
    second = killed.base();
    (void)killed.attach_root("self", "pointer", 1, true);
  }
  const squatter taken_second(second);
  auto third = pool::open(directory.file("p"));
  EXPECT_GE(third.base() > second ? third.base() - second : second - third.base(), gib);
  const attached_root root = third.attach_root("self", "pointer", 1, true);
  const std::set<std::uintptr_t> bases{root.pointers_base, root.other_bases[0],
                                       root.other_bases[1]};
  EXPECT_EQ(bases, (std::set<std::uintptr_t>{0, first, second}));
  third.root_relocated(root.index);
  third.detach_root(root.index, false);
  const attached_root moved = third.attach_root("self", "pointer", 1, true);
  EXPECT_EQ(moved.pointers_base, third.base());
  EXPECT_EQ(moved.other_bases[0], 0u);
}

TEST(relocation, moves_to_the_address_asked_for) {
  temp_directory directory;
  const std::uintptr_t old_base = make_pool(directory.file("p"), true);
  const std::uintptr_t wanted =
      old_base > 0x6000'0000'0000 ? old_base - 8 * gib : old_base + 8 * gib;
  auto target = pool::open(directory.file("p"), {.base_address = wanted});
  EXPECT_EQ(target.base(), wanted);
  EXPECT_EQ(target.attach_root("self", "pointer", 1, true).pointers_base, old_base);
}

TEST(relocation, refuses_a_range_that_overlaps_the_old_one) {
  temp_directory directory;
  const std::uintptr_t old_base = make_pool(directory.file("p"), true, 1024);
  EXPECT_THROW((void)pool::open(directory.file("p"), {.base_address = old_base + (2 << 20)}),
               error);
  EXPECT_THROW((void)pool::open(directory.file("p"), {.base_address = 12345}), error);
}

TEST(relocation, creation_at_a_taken_address_fails_and_leaves_no_file) {
  temp_directory directory;
  const std::uintptr_t address = 0x5530'0000'0000;
  const squatter taken(address);
  try {
    (void)pool::create(directory.file("p"), {.size_bytes = 1 << 20, .base_address = address});
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::address_taken);
  }
  EXPECT_FALSE(std::filesystem::exists(directory.file("p")));
}

TEST(relocation, works_for_a_copy_of_a_pool_beside_its_original) {
  temp_directory directory;
  (void)make_pool(directory.file("p"), true);
  std::filesystem::copy_file(directory.file("p"), directory.file("copy"));
  auto original = pool::open(directory.file("p"));
  auto copy = pool::open(directory.file("copy"));
  EXPECT_NE(original.base(), copy.base());
}

}  // namespace
}  // namespace outlast
