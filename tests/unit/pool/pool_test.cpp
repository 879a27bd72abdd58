// Goal: a pool keeps names, sizes and marks through closing, killing and reopening. Method: pools
// in a temporary directory, opened repeatedly; a killed process is a pool that is not closed.
#include <outlast/domain.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>

namespace outlast {
namespace {

using pool_format::run_kind;
using test::temp_directory;

constexpr pool_options small{.size_bytes = 1 << 20};

template <class Pool>
std::uint64_t* make_root(Pool& target, const char* name, std::uint64_t value, bool saved = true) {
  const attached_root root = target.attach_root(name, "number", 1, true);
  auto* const object = static_cast<std::uint64_t*>(
      target.pages().allocate_run(run_kind::large, root.index, 1, 1, pool_format::page_bytes));
  *object = value;
  target.publish_root(root.index, object);
  target.detach_root(root.index, saved);
  return object;
}

template <class Pool>
std::uint64_t value_of(Pool& target, const char* name) {
  const attached_root root = target.attach_root(name, "number", 1, true);
  const std::uint64_t value = *reinterpret_cast<std::uint64_t*>(target.base() + root.object_offset);
  target.detach_root(root.index, root.state == root_state::clean);
  return value;
}

/// What happened to services and close actions, in order.
std::string journal;

struct service {
  explicit service(pool&) { journal += '+'; }
  ~service() { journal += '-'; }
};

template <class D>
class pools : public ::testing::Test {};
using hardware_domains =
    ::testing::Types<domain::process, domain::adr, domain::cache_persistent, domain::file,
                     domain::native, domain::counting<domain::process>>;
TYPED_TEST_SUITE(pools, hardware_domains);

TYPED_TEST(pools, keep_a_root_from_one_opening_to_the_next) {
  temp_directory directory;
  std::uintptr_t base = 0;
  {
    auto first = basic_pool<TypeParam>::create(directory.file("p"), small);
    make_root(first, "answer", 42);
    base = first.base();
    first.close();
  }
  auto second = basic_pool<TypeParam>::open(directory.file("p"));
  EXPECT_EQ(second.base(), base);
  EXPECT_FALSE(second.was_dirty());
  EXPECT_EQ(value_of(second, "answer"), 42u);
}

TYPED_TEST(pools, keep_a_root_without_a_close) {
  temp_directory directory;
  {
    auto first = basic_pool<TypeParam>::create(directory.file("p"), small);
    make_root(first, "answer", 42, false);
  }
  auto second = basic_pool<TypeParam>::open(directory.file("p"));
  EXPECT_TRUE(second.was_dirty());
  EXPECT_EQ(value_of(second, "answer"), 42u);
}

TEST(pool, written_under_one_domain_opens_under_every_other) {
  temp_directory directory;
  {
    auto first = basic_pool<domain::process>::create(directory.file("p"), small);
    make_root(first, "answer", 42);
    first.close();
  }
  {
    auto second = basic_pool<domain::adr>::open(directory.file("p"));
    EXPECT_EQ(value_of(second, "answer"), 42u);
  }
  {
    auto third = basic_pool<domain::file>::open(directory.file("p"));
    EXPECT_EQ(value_of(third, "answer"), 42u);
  }
  auto fourth = pool::open(directory.file("p"));
  EXPECT_EQ(value_of(fourth, "answer"), 42u);
}

TEST(pool, tells_whether_a_root_was_closed_cleanly) {
  temp_directory directory;
  {
    auto first = pool::create(directory.file("p"), small);
    make_root(first, "saved", 1, true);
    make_root(first, "unsaved", 2, false);
    first.close();
  }
  auto second = pool::open(directory.file("p"));
  EXPECT_EQ(second.attach_root("saved", "number", 1, true).state, root_state::clean);
  EXPECT_EQ(second.attach_root("unsaved", "number", 1, true).state, root_state::needs_recovery);
}

TEST(pool, trusts_saved_occupancy_once) {
  temp_directory directory;
  {
    auto first = pool::create(directory.file("p"), small);
    make_root(first, "saved", 1, true);
    first.close();
  }
  {
    auto killed = pool::open(directory.file("p"));
    EXPECT_EQ(killed.attach_root("saved", "number", 1, true).state, root_state::clean);
  }
  auto after = pool::open(directory.file("p"));
  EXPECT_EQ(after.attach_root("saved", "number", 1, true).state, root_state::needs_recovery);
}

TEST(pool, lets_an_untouched_root_stay_clean_through_a_kill) {
  temp_directory directory;
  {
    auto first = pool::create(directory.file("p"), small);
    make_root(first, "quiet", 1, true);
    make_root(first, "busy", 1, true);
    first.close();
  }
  {
    auto killed = pool::open(directory.file("p"));
    (void)killed.attach_root("busy", "number", 1, true);
  }
  auto after = pool::open(directory.file("p"));
  EXPECT_EQ(after.attach_root("quiet", "number", 1, true).state, root_state::clean);
}

TEST(pool, removes_a_root_that_was_never_published) {
  temp_directory directory;
  {
    auto killed = pool::create(directory.file("p"), small);
    const attached_root root = killed.attach_root("half", "number", 1, true);
    (void)killed.pages().allocate_run(run_kind::large, root.index, 1, 3, 12000);
  }
  auto after = pool::open(directory.file("p"));
  EXPECT_TRUE(after.roots().empty());
  EXPECT_FALSE(pool_format::has_errors(after.check()));
  std::size_t runs = 0;
  after.pages().for_each_run([&](std::uint32_t, const auto&) { ++runs; });
  EXPECT_EQ(runs, 0u);
}

TEST(pool, removes_an_unpublished_root_that_is_detached) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  const attached_root first = target.attach_root("again", "number", 1, true);
  (void)target.pages().allocate_run(run_kind::large, first.index, 1, 1, 4096);
  target.detach_root(first.index, false);
  EXPECT_TRUE(target.roots().empty());
  EXPECT_EQ(target.attach_root("again", "other", 2, true).state, root_state::fresh);
}

TEST(pool, drops_a_root_with_its_pages) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  make_root(target, "a", 1);
  make_root(target, "b", 2);
  target.drop_root("a");
  ASSERT_EQ(target.roots().size(), 1u);
  EXPECT_EQ(target.roots().front().name, "b");
  EXPECT_THROW(target.drop_root("a"), error);
  EXPECT_FALSE(pool_format::has_errors(target.check()));
}

TEST(pool, refuses_to_drop_a_root_in_use) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  make_root(target, "a", 1);
  (void)target.attach_root("a", "number", 1, true);
  EXPECT_THROW(target.drop_root("a"), error);
}

TEST(pool, has_room_for_256_roots_in_format_1_and_says_so) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), {.size_bytes = 4 << 20, .format_version = 1});
  for (int i = 0; i < 256; ++i) make_root(target, std::to_string(i).c_str(), 1);
  try {
    (void)target.attach_root("one more", "number", 1, true);
    FAIL();
  } catch (const error& full) {
    EXPECT_EQ(full.reason(), errc::roots_exhausted);
  }
  target.drop_root("17");
  make_root(target, "one more", 9);
  EXPECT_EQ(value_of(target, "one more"), 9u);
}

TEST(pool, keeps_several_pools_apart) {
  temp_directory directory;
  auto a = pool::create(directory.file("a"), small);
  auto b = pool::create(directory.file("b"), small);
  auto c = pool::create(directory.file("c"), small);
  make_root(a, "x", 1);
  make_root(b, "x", 2);
  make_root(c, "x", 3);
  EXPECT_EQ(value_of(a, "x") + 10 * value_of(b, "x") + 100 * value_of(c, "x"), 321u);
  EXPECT_NE(a.uuid(), b.uuid());
}

TEST(pool, grows_and_stays_grown) {
  temp_directory directory;
  {
    auto target =
        pool::create(directory.file("p"), {.size_bytes = 1 << 20, .capacity_bytes = 64 << 20});
    target.grow(8 << 20);
    EXPECT_EQ(target.size_bytes(), 8u << 20);
    auto* const block =
        static_cast<char*>(target.pages().allocate_run(run_kind::large, 0, 1, 512, 2 << 20));
    std::memset(block, 7, 2 << 20);
    target.pages().free_run(block);
    EXPECT_THROW(target.grow(65 << 20), error);
  }
  auto again = pool::open(directory.file("p"));
  EXPECT_EQ(again.size_bytes(), 8u << 20);
  again.grow(64 << 20);
  EXPECT_EQ(again.size_bytes(), again.capacity_bytes());
}

TEST(pool, can_really_fill_its_size) {
  temp_directory directory;
  auto target =
      pool::create(directory.file("p"), {.size_bytes = 2 << 20, .capacity_bytes = 2 << 20});
  std::size_t pages = 0;
  try {
    for (;;) {
      std::memset(target.pages().allocate_run(run_kind::large, 0, 1, 1, 4096), 1, 4096);
      ++pages;
    }
  } catch (const out_of_space&) {
  }
  EXPECT_GT(pages * 4096, (std::size_t{2} << 20) * 9 / 10);
}

TEST(pool, takes_space_on_the_file_system_only_as_it_fills) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), {.size_bytes = std::size_t{1} << 30});
  struct stat status{};
  ASSERT_EQ(::stat(directory.file("p").c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 4 << 20);
  EXPECT_GE(status.st_size, 1 << 30);
}

TEST(pool, creates_where_space_cannot_be_allocated) {
  pool_detail::test_hooks().fallocate_fails = EOPNOTSUPP;
  pool_detail::test_hooks().no_unnamed_files = true;
  temp_directory directory;
  {
    auto target = pool::create(directory.file("p"), small);
    make_root(target, "x", 5);
    target.grow(2 << 20);
    target.close();
  }
  {
    auto again = pool::open(directory.file("p"));
    EXPECT_EQ(value_of(again, "x"), 5u);
  }
  pool_detail::test_hooks() = {};
  struct stat status{};
  ASSERT_EQ(::stat(directory.file("p").c_str(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, status.st_size);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(directory.file("p")).parent_path())) {
    ++files;
  }
  EXPECT_EQ(files, 1u);
}

TEST(pool, runs_close_actions_newest_first_and_services_after_them) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  journal.clear();
  EXPECT_EQ(&target.service<service>(), &target.service<service>());
  target.on_close([] { journal += '1'; });
  target.on_close([] { journal += '2'; });
  target.close();
  EXPECT_EQ(journal, "+21-");
  target.close();
  EXPECT_EQ(journal, "+21-");
}

TEST(pool, destroys_services_without_a_close_and_runs_no_actions) {
  temp_directory directory;
  journal.clear();
  {
    auto target = pool::create(directory.file("p"), small);
    (void)target.service<service>();
    target.on_close([] { journal += '1'; });
  }
  EXPECT_EQ(journal, "+-");
}

TEST(pool, stays_dirty_when_a_close_action_fails) {
  temp_directory directory;
  {
    auto target = pool::create(directory.file("p"), small);
    target.on_close([] { throw std::runtime_error("no"); });
    EXPECT_THROW(target.close(), std::runtime_error);
  }
  EXPECT_TRUE(pool::open(directory.file("p")).was_dirty());
}

TEST(pool, refuses_everything_after_close) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  target.close();
  try {
    (void)target.roots();
    FAIL();
  } catch (const error& closed) {
    EXPECT_EQ(closed.reason(), errc::closed);
  }
}

TEST(pool, opens_or_creates) {
  temp_directory directory;
  {
    auto first = pool::open_or_create(directory.file("p"), small);
    make_root(first, "x", 3);
    first.close();
  }
  auto second = pool::open_or_create(directory.file("p"), small);
  EXPECT_EQ(value_of(second, "x"), 3u);
}

TEST(pool, answers_with_error_codes_where_asked) {
  temp_directory directory;
  std::error_code failed;
  EXPECT_EQ(pool::try_open(directory.file("p"), small, failed), nullptr);
  EXPECT_EQ(failed, errc::not_found);
  const auto made = pool::try_create(directory.file("p"), small, failed);
  ASSERT_NE(made, nullptr);
  EXPECT_FALSE(failed);
  EXPECT_EQ(pool::try_create(directory.file("p"), small, failed), nullptr);
  EXPECT_EQ(failed, errc::already_exists);
}

TEST(pool, says_what_survives) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  EXPECT_EQ(target.survives(), domain::kind::process);
  EXPECT_NE(target.guarantee().find("death of the process"), std::string::npos);
  EXPECT_NE(target.guarantee().find(directory.file("p")), std::string::npos);
}

TEST(pool, never_promises_more_because_instructions_were_forced) {
  if (std::getenv("OUTLAST_FLUSH") != nullptr) {
    GTEST_SKIP() << "under emulation: qemu-user takes MAP_SYNC for granted";
  }
  temp_directory directory;
  auto target = pool::create(
      directory.file("p"), {.size_bytes = 1 << 20, .force_domain = domain::kind::cache_persistent});
  EXPECT_EQ(domain::native::current_kind(), domain::kind::cache_persistent);
  EXPECT_EQ(target.survives(), domain::kind::process);
  EXPECT_NE(target.guarantee().find("do not change that"), std::string::npos);
  target.close();
  EXPECT_EQ(domain::native::current_kind(), domain::kind::process);
}

TEST(pool, takes_the_forced_domain_from_the_environment) {
  temp_directory directory;
  ::setenv("OUTLAST_DOMAIN", "cache_persistent", 1);
  {
    auto target = pool::create(directory.file("p"), small);
    EXPECT_EQ(domain::native::current_kind(), domain::kind::cache_persistent);
  }
  ::setenv("OUTLAST_DOMAIN", "nonsense", 1);
  EXPECT_THROW((void)pool::open(directory.file("p")), error);
  ::unsetenv("OUTLAST_DOMAIN");
  EXPECT_EQ(domain::native::current_kind(), domain::kind::process);
}

TEST(pool, refuses_to_force_another_domain_on_a_fixed_type) {
  temp_directory directory;
  EXPECT_THROW((void)basic_pool<domain::process>::create(
                   directory.file("p"), {.size_bytes = 1 << 20, .force_domain = domain::kind::adr}),
               error);
}

TEST(pool, flushes_magic_and_slots_and_writes_two_slots_to_open_and_nothing_to_look) {
  alignas(4096) static std::byte memory[256 << 10];
  using counted = domain::counting<domain::adr>;
  basic_pool<counted>::in_memory(memory, sizeof memory, true)->close();
  const std::uint64_t before = base::this_thread().flushes;
  const auto target = basic_pool<counted>::in_memory(memory, sizeof memory, false);
  EXPECT_EQ(base::this_thread().flushes - before, 5u);
  (void)target->roots();
  (void)target->check();
  EXPECT_EQ(base::this_thread().flushes - before, 5u);
}

TEST(pool, lives_in_memory_of_the_caller) {
  alignas(4096) static std::byte memory[256 << 10];
  {
    const auto target = basic_pool<domain::process>::in_memory(memory, sizeof memory, true);
    make_root(*target, "x", 6);
  }
  const auto again = basic_pool<domain::process>::in_memory(memory, sizeof memory, false);
  EXPECT_TRUE(again->was_dirty());
  EXPECT_EQ(value_of(*again, "x"), 6u);
  EXPECT_NE(again->guarantee().find("Nothing survives"), std::string::npos);
}

TEST(pool, grows_in_memory_of_the_caller_until_it_fills_it) {
  alignas(4096) static std::byte memory[256 << 10];
  constexpr std::size_t half = sizeof memory / 2;
  {
    const auto target = basic_pool<domain::process>::in_memory(
        memory, sizeof memory, true, {.size_bytes = half, .capacity_bytes = sizeof memory});
    EXPECT_EQ(target->size_bytes(), half);
    EXPECT_THROW((void)target->reserve_region("r", region_kind::log, sizeof memory), out_of_space);
    EXPECT_EQ(target->size_bytes(), half);
    (void)target->reserve_region("r", region_kind::log, half);
    EXPECT_GT(target->size_bytes(), half);
    target->grow(sizeof memory);
    EXPECT_THROW(target->grow(sizeof memory + 1), error);
  }
  const auto again = basic_pool<domain::process>::in_memory(memory, sizeof memory, false);
  EXPECT_EQ(again->size_bytes(), sizeof memory);
  EXPECT_TRUE(again->find_region("r").has_value());
}

TEST(pool, attaches_roots_from_many_threads) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), {.size_bytes = 4 << 20});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&target, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string name = std::to_string(t) + '/' + std::to_string(i);
        make_root(target, name.c_str(), 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(target.roots().size(), 40u);
}

// ---- the domain `file` ----

TEST(file_pool, refuses_per_operation_durability_unless_asked) {
  temp_directory directory;
  {
    auto target = basic_pool<domain::file>::create(directory.file("p"), small);
    EXPECT_THROW(target.require_per_operation_durability(), error);
    EXPECT_EQ(target.survives(), domain::kind::file);
    target.close();
  }
  auto asked =
      basic_pool<domain::file>::open(directory.file("p"), {.per_operation_device_sync = true});
  EXPECT_NO_THROW(asked.require_per_operation_durability());
}

TEST(file_pool, is_poisoned_by_a_device_error_and_stays_dirty) {
  temp_directory directory;
  auto bystander = basic_pool<domain::file>::create(directory.file("q"), small);
  {
    auto target = basic_pool<domain::file>::create(directory.file("p"), small);
    make_root(target, "before", 1);
    domain::file::fail_next_syncs(1, EIO);
    try {
      make_root(target, "during", 2);
      FAIL();
    } catch (const error& failure) {
      EXPECT_EQ(failure.reason(), errc::io_failure);
      EXPECT_NE(std::string(failure.what()).find(directory.file("p")), std::string::npos);
    }
    EXPECT_THROW(make_root(target, "after", 3), error);
    EXPECT_THROW(target.close(), error);
    make_root(bystander, "fine", 4);
  }
  auto again = basic_pool<domain::file>::open(directory.file("p"));
  EXPECT_TRUE(again.was_dirty());
  EXPECT_EQ(value_of(again, "before"), 1u);
}

// ---- machine crashes ----

class after_another_boot : public ::testing::Test {
 protected:
  void SetUp() override { pool_detail::test_hooks().boot = pool_format::boot_id{1}; }
  void TearDown() override { pool_detail::test_hooks() = {}; }
  static void boot() { pool_detail::test_hooks().boot = pool_format::boot_id{2}; }
  temp_directory directory_;
};

TEST_F(after_another_boot, a_salvage_that_failed_leaves_the_pool_torn) {
  {
    auto killed = basic_pool<domain::process>::create(directory_.file("p"), small);
    make_root(killed, "x", 1);
  }
  std::fstream file(directory_.file("p"), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(pool_format::page_bytes + offsetof(pool_format::root_entry, identity));
  file.put('y');  // the check word of the root's identity is wrong now
  file.close();
  boot();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW((void)pool::open(directory_.file("p"), {.salvage = true}), corruption);
    try {
      (void)pool::open(directory_.file("p"));
      ADD_FAILURE() << "a torn pool was taken for one that was killed";
    } catch (const error& torn) {
      EXPECT_EQ(torn.reason(), errc::torn_by_machine_crash);
    }
  }
}

/// Counts the syncs of pool files.
class synced : public ::testing::Test {
 protected:
  void SetUp() override {
    pool_detail::test_hooks().on_sync = [this] {
      ++syncs_;
      return 0;
    };
    pool_detail::test_hooks().file_system = 0xef53;  // a disk
  }
  void TearDown() override { pool_detail::test_hooks() = {}; }
  temp_directory directory_;
  int syncs_ = 0;
};

TEST_F(synced, what_only_survives_kills_before_another_domain_takes_its_mark_away) {
  {
    auto killed = basic_pool<domain::process>::create(directory_.file("p"), small);
  }
  syncs_ = 0;
  {
    auto other = basic_pool<domain::file>::open(directory_.file("p"));
  }
  EXPECT_EQ(syncs_, 1);
  {
    auto other = basic_pool<domain::file>::open(directory_.file("p"));
  }
  EXPECT_EQ(syncs_, 2);  // what a killed opener left: see page_cache.cpp
}

TEST_F(synced, at_a_clean_close_whatever_the_mapping) {
  pool_detail::test_hooks().mapping = domain::kind::cache_persistent;
  auto target = basic_pool<domain::cache_persistent>::create(directory_.file("p"), small);
  ASSERT_EQ(target.survives(), domain::kind::cache_persistent);
  EXPECT_EQ(syncs_, 0);
  target.close();
  EXPECT_EQ(syncs_, 1);
}

TEST_F(synced, the_marks_of_unflushed_stores_on_a_mapping_that_wants_flushes) {
  pool_detail::test_hooks().mapping = domain::kind::adr;
  auto target = basic_pool<domain::process>::create(directory_.file("p"), small);
  ASSERT_EQ(target.survives(), domain::kind::process);
  EXPECT_EQ(syncs_, 1);
  target.close();
  EXPECT_EQ(syncs_, 4);  // the contents, the shorter size, the mark
}

TEST(pool, drops_a_root_that_a_keeper_lets_go_of) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  make_root(target, "kept", 1);
  const attached_root root = target.attach_root("kept", "number", 1, true);
  EXPECT_THROW(target.drop_root("kept"), error);
  target.on_drop([&](std::string_view name) {
    if (name == "kept") target.detach_root(root.index, false);
  });
  target.drop_root("kept");
  EXPECT_TRUE(target.roots().empty());
}

TEST(pool, keeps_the_root_that_its_keeper_does_not_let_go_of) {
  temp_directory directory;
  auto target = pool::create(directory.file("p"), small);
  make_root(target, "kept", 1);
  target.on_drop([](std::string_view) { throw std::runtime_error("in use"); });
  EXPECT_THROW(target.drop_root("kept"), std::runtime_error);
  EXPECT_EQ(target.roots().size(), 1u);
}

TEST_F(after_another_boot, a_dirty_pool_is_refused_and_untouched_until_salvage_is_asked_for) {
  {
    auto target = pool::create(directory_.file("p"), small);
    make_root(target, "x", 8, true);
  }
  boot();
  try {
    (void)pool::open(directory_.file("p"));
    FAIL();
  } catch (const error& torn) {
    EXPECT_EQ(torn.reason(), errc::torn_by_machine_crash);
  }
  auto salvaged = pool::open(directory_.file("p"), {.salvage = true});
  const attached_root root = salvaged.attach_root("x", "number", 1, true);
  EXPECT_EQ(root.state, root_state::needs_recovery);
}

TEST_F(after_another_boot, a_clean_pool_opens) {
  pool::create(directory_.file("p"), small).close();
  boot();
  EXPECT_FALSE(pool::open(directory_.file("p")).was_dirty());
}

TEST_F(after_another_boot, a_dirty_pool_of_the_domain_file_opens) {
  {
    auto target = basic_pool<domain::file>::create(directory_.file("p"), small);
  }
  boot();
  EXPECT_TRUE(basic_pool<domain::file>::open(directory_.file("p")).was_dirty());
}

TEST_F(after_another_boot, forced_instructions_do_not_hide_the_crash) {
  {
    auto target =
        pool::create(directory_.file("p"),
                     {.size_bytes = 1 << 20, .force_domain = domain::kind::cache_persistent});
  }
  boot();
  EXPECT_THROW((void)pool::open(directory_.file("p")), error);
}

}  // namespace
}  // namespace outlast
