// Goal: a dropped root takes all its pages with it and no others, and the drop reads its own
// descriptors only, whatever roots there are.
// Method: random runs of many roots, against a list of the runs; damaged descriptors of other
// roots, which a search would find; threads that use other roots meanwhile.
#include <outlast/alloc/arena.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/counting.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/costs.hpp>
#include <tests/support/reasons.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace outlast {
namespace {

using pool_format::run_kind;
using pool_format::run_word;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t page = 4096;

/// Adds a run to a root. Returns its first page.
template <class D>
std::uint32_t add_run(basic_pool<D>& to, std::uint32_t root, std::uint32_t pages) {
  return to.pages().page_of(to.pages().allocate_run(run_kind::large, root, 1, pages, pages * page));
}

/// Makes a root of `runs` runs of one page. Returns their pages.
template <class D>
std::vector<std::uint32_t> make_root(basic_pool<D>& in, const std::string& name, int runs) {
  const attached_root root = in.attach_root(name, "pages", 1, true);
  std::vector<std::uint32_t> pages;
  for (int i = 0; i < runs; ++i) pages.push_back(add_run(in, root.index, 1));
  in.publish_root(root.index, in.pages().address_of(pages.front()));
  in.detach_root(root.index, true);
  return pages;
}

template <class D>
std::size_t pages_in_use(const basic_pool<D>& in) {
  std::size_t sum = 0;
  const_cast<basic_pool<D>&>(in).pages().for_each_run(
      [&](std::uint32_t, run_word run) { sum += run.pages; });
  return sum;
}

template <class D>
void expect_sound(const basic_pool<D>& in) {
  for (const pool_format::finding& one : in.check()) {
    EXPECT_NE(one.level, pool_format::severity::error) << one.sentence;
  }
}

struct Drop : testing::Test {
  using pool_type = basic_pool<domain::process>;
  test::temp_directory directory;
  std::string path = directory.file("p");

  [[nodiscard]] pool_type make(std::size_t capacity = 64 * mib) const {
    return pool_type::create(path,
                             {.size_bytes = mib, .capacity_bytes = capacity, .format_version = 2});
  }
};

/// A descriptor with an unknown kind, which each call that reads it refuses.
class damaged_line {
 public:
  damaged_line(Drop::pool_type& in, std::uint32_t first)
      : word_(in.pages().line(first).word), before_(word_.load()) {
    word_ = run_word{run_kind::region, 0, 3, 1}.pack();
  }
  ~damaged_line() { word_ = before_; }
  damaged_line(const damaged_line&) = delete;
  damaged_line& operator=(const damaged_line&) = delete;

 private:
  std::atomic<std::uint64_t>& word_;
  std::uint64_t before_;
};

TEST_F(Drop, of_a_new_root_reads_no_other_descriptors) {
  pool_type target = make();
  const std::uint32_t other = make_root(target, "other", 5).front();
  make_root(target, "new", 100);
  const std::size_t before = pages_in_use(target);
  {
    const damaged_line damage(target, other);
    EXPECT_THROW((void)pages_in_use(target), corruption);
    EXPECT_NO_THROW(target.drop_root("new"));
  }
  EXPECT_EQ(pages_in_use(target), before - 100);
  expect_sound(target);
}

TEST_F(Drop, of_older_roots_searches_for_the_runs_of_all_of_them_at_most_twice) {
  std::uint32_t other = 0;
  {
    pool_type target = make();
    for (int i = 0; i < 20; ++i) make_root(target, std::to_string(i), 1 + i % 3);
    other = make_root(target, "other", 3).front();
    target.close();
  }
  pool_type target = pool_type::open(path);
  target.drop_root("0");
  target.drop_root("1");
  {
    const damaged_line damage(target, other);
    for (int i = 2; i < 20; ++i) EXPECT_NO_THROW(target.drop_root(std::to_string(i)));
  }
  EXPECT_EQ(pages_in_use(target), 3U);
  target.drop_root("other");
  EXPECT_EQ(pages_in_use(target), 0U);
  expect_sound(target);
}

TEST_F(Drop, of_a_root_with_a_large_part_of_the_pool_finds_all_runs) {
  pool_type target = make();
  make_root(target, "small", 10);
  make_root(target, "large", 3000);  // more than are indexed
  make_root(target, "small, too", 10);
  target.drop_root("large");
  EXPECT_EQ(pages_in_use(target), 20U);
  make_root(target, "large", 20);  // has the number of the dropped one
  target.drop_root("large");
  EXPECT_EQ(pages_in_use(target), 20U);
  expect_sound(target);
}

/// Roots and their runs, and what should be there.
class random_roots {
 public:
  explicit random_roots(std::uint32_t seed) : random_(seed) {}

  void step(Drop::pool_type& in) {
    const std::string name = std::to_string(random_() % 12);
    auto found = runs_.find(name);
    switch (random_() % 4) {
      case 0:
        if (found == runs_.end()) return;
        in.drop_root(name);
        runs_.erase(found);
        return;
      case 1:
        if (found == runs_.end() || found->second.size() < 2) return;
        change(in, name, [&](std::uint32_t) {
          in.pages().free_run(in.pages().address_of(found->second.back()));
          found->second.pop_back();
        });
        return;
      default:
        if (found == runs_.end()) {
          runs_[name] = make_root(in, name, 1 + static_cast<int>(random_() % 4));
        } else {
          change(in, name, [&](std::uint32_t root) {
            found->second.push_back(
                add_run(in, root, 1 + static_cast<std::uint32_t>(random_() % 5)));
          });
        }
    }
  }

  /// Expects that the pool has the runs of these roots and no others.
  void expect_in(Drop::pool_type& in) const {
    std::map<std::uint32_t, std::string> owner_of;
    for (const root_info& root : in.roots()) owner_of[root.index] = root.name;
    EXPECT_EQ(owner_of.size(), runs_.size());
    std::map<std::string, std::vector<std::uint32_t>> found;
    in.pages().for_each_run(
        [&](std::uint32_t first, run_word run) { found[owner_of[run.owner]].push_back(first); });
    std::map<std::string, std::vector<std::uint32_t>> expected = runs_;
    for (auto& [name, pages] : expected) std::sort(pages.begin(), pages.end());
    EXPECT_EQ(found, expected);
  }

 private:
  template <class Change>
  void change(Drop::pool_type& in, const std::string& name, Change&& change) {
    const attached_root root = in.attach_root(name, "pages", 1, true);
    change(root.index);
    in.detach_root(root.index, true);
  }

  std::mt19937 random_;
  std::map<std::string, std::vector<std::uint32_t>> runs_;
};

TEST_F(Drop, leaves_the_runs_of_all_other_roots) {
  random_roots roots(11);
  {
    make().close();
  }
  for (int opening = 0; opening < 6; ++opening) {
    pool_type target = pool_type::open(path);
    for (int i = 0; i < 400; ++i) {
      roots.step(target);
      if (i % 40 == 0) target.trim();
    }
    roots.expect_in(target);
    expect_sound(target);
    if (opening % 2 == 0) target.close();
  }
}

TEST_F(Drop, waits_once_for_many_runs) {
  using counted = domain::counting<domain::adr>;
  test::temp_pool<counted> target(16 * mib);
  make_root(*target, "few", 1);
  make_root(*target, "many", 61);
  make_root(*target, "last", 1);
  target->trim();  // a drop would cut the free end off
  const auto cost_of = [&](const char* name) {
    return test::cost_of([&] { target->drop_root(name); });
  };
  const test::cost few = cost_of("few");
  const test::cost many = cost_of("many");
  EXPECT_EQ(many.fences, few.fences);
  EXPECT_EQ(many.flushes, few.flushes + 60);
}

TEST_F(Drop, refuses_an_attach_of_the_root_meanwhile_but_no_other_call) {
  pool_type target = make();
  make_root(target, "gone", 2000);
  make_root(target, "kept", 1);
  std::jthread dropping([&] { target.drop_root("gone"); });
  for (int i = 0; i < 200; ++i) {
    const attached_root root = target.attach_root("kept", "pages", 1, true);
    EXPECT_FALSE(target.roots().empty());
    target.detach_root(root.index, true);
  }
  dropping.join();
  EXPECT_EQ(target.roots().size(), 1U);
  EXPECT_EQ(pages_in_use(target), 1U);
}

TEST_F(Drop, by_several_threads_drops_each_root_once) {
  pool_type target = make();
  constexpr int roots = 200;
  for (int i = 0; i < roots; ++i) make_root(target, std::to_string(i), 1 + i % 7);
  make_root(target, "kept", 5);
  std::atomic<int> dropped{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < roots; ++i) {
          try {
            target.drop_root(std::to_string(i));
            ++dropped;
          } catch (const error& refused) {
            EXPECT_TRUE(refused.reason() == errc::not_found ||
                        refused.reason() == errc::already_open)
                << refused.what();
          }
        }
      });
    }
  }
  EXPECT_EQ(dropped, roots);
  EXPECT_EQ(pages_in_use(target), 5U);
  expect_sound(target);
}

/// The search of an allocator for its spans of the last session must end where the pool ends now.
TEST_F(Drop, cuts_descriptors_that_another_root_has_not_read) {
  using arena_type = alloc::arena<domain::process>;
  const auto fill = [](pool_type& target, const std::string& name, std::size_t bytes) {
    const attached_root root = target.attach_root(name, "blocks", 1, true);
    arena_type blocks(target.pages(), root.index);
    target.publish_root(root.index, blocks.allocate(64));
    (void)blocks.allocate(bytes);
    blocks.save_occupancy();
    target.detach_root(root.index, true);
  };
  {
    pool_type target = pool_type::create(
        path, {.size_bytes = mib / 4, .capacity_bytes = 64 * mib, .format_version = 2});
    fill(target, "stays", 8192);
    fill(target, "goes", 40 * mib);
    fill(target, "goes, too", 64);
    target.close();
  }
  pool_type target = pool_type::open(path);
  const attached_root root = target.attach_root("stays", "blocks", 1, true);
  ASSERT_EQ(root.state, root_state::clean);
  arena_type blocks(target.pages(), root.index);
  blocks.load_clean();
  const std::size_t before = target.size_bytes();
  target.drop_root("goes, too");
  target.drop_root("goes");
  EXPECT_LT(target.size_bytes(), before / 2);
  for (int i = 0; i < 3000; ++i) EXPECT_NE(blocks.allocate(64), nullptr);
  blocks.save_occupancy();
  target.detach_root(root.index, true);
  expect_sound(target);
}

}  // namespace
}  // namespace outlast
