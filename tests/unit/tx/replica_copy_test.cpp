// Goal: a replica that has missed too many commits is brought up to date in proportion to the pages
// that changed, and after an opening in proportion to the lines that differ.
// Method: a domain that counts the bytes that engines write, except for operations; a reader that
// holds the freshest replica, so that an update takes another one.
#include <outlast/containers/array.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/tx/baselines/cx_ptm.hpp>
#include <outlast/tx/baselines/redo.hpp>
#include <outlast/tx/detail/changed_pages.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::tx {
namespace {

/// Counts what is written and streamed into persistent memory; fields are stored past it.
struct counting_bytes : domain::process {
  static inline std::atomic<std::uint64_t> written = 0;

  static void write(void* to, const void* from, std::size_t size,
                    domain::site where = domain::site::current()) noexcept {
    written += size;
    domain::process::write(to, from, size, where);
  }
  static void stream(void* to, const void* from, std::size_t size,
                     domain::site where = domain::site::current()) noexcept {
    written += size;
    domain::process::stream(to, from, size, where);
  }
};

using D = counting_bytes;
using array = containers::array<std::uint64_t>;

constexpr std::size_t entries = 100'000;
constexpr std::size_t page = 4096;
constexpr options three{.replica_bytes = std::size_t{2} << 20, .replicas = 3};

template <class Action>
std::uint64_t bytes_written_by(Action&& action) {
  const std::uint64_t before = D::written;
  action();
  return D::written - before;
}

template <class Manager>
class ReplicaCopy : public testing::Test {
 protected:
  void attach() {
    manager_.reset(new Manager(*pool_, "all", three));
    here_ = manager_->template root<array>("array");
  }
  void crash() {
    manager_.reset();
    pool_.abandon();
  }
  void close() {
    manager_.reset();
    pool_.close();
  }

  void fill() {
    manager_->update(here_, [](array& a) {
      a.resize(entries);
      for (std::size_t i = 0; i < entries; ++i) a.set(i, i + 1);
    });
  }
  void set(std::size_t i, std::uint64_t value) {
    manager_->update(here_, [=](array& a) { a.set(i, value); });
  }
  [[nodiscard]] std::uint64_t get(std::size_t i) {
    return manager_->read(here_, [=](const array& a) { return a.at(i); });
  }

  /// Runs `action` while a reader holds the replica that counts now.
  template <class Action>
  void while_one_is_read(Action&& action) {
    std::latch reads{1};
    std::latch over{1};
    std::jthread reader([&] {
      manager_->read(here_, [&](const array&) {
        reads.count_down();
        over.wait();
      });
    });
    reads.wait();
    action();
    over.count_down();
  }

  /// Every replica has been written since it was behind, if there are three.
  void use_all() {
    while_one_is_read([&] {
      set(0, 1);
      set(0, 2);
    });
  }

  test::temp_pool<D> pool_;
  std::unique_ptr<Manager> manager_;
  root<array> here_;
};

template <class Manager>
class SeveralReplicas : public ReplicaCopy<Manager> {};

using all_engines = testing::Types<left_right<D>, redo<D>, redo_timed<D>, redo_opt<D>, cx_ptm<D>>;
using wait_free_engines = testing::Types<redo<D>, redo_timed<D>, redo_opt<D>, cx_ptm<D>>;
TYPED_TEST_SUITE(ReplicaCopy, all_engines);
TYPED_TEST_SUITE(SeveralReplicas, wait_free_engines);

TYPED_TEST(SeveralReplicas, that_missed_much_get_the_pages_that_changed) {
  this->attach();
  this->fill();
  this->use_all();
  // More than a ring holds: all in the same three places, in pages of their own.
  for (std::size_t i = 0; i < 1500; ++i) this->set(i % 3 * 20'000, i);
  const std::uint64_t written = bytes_written_by([&] { this->use_all(); });
  EXPECT_LE(written, 8 * page) << "of " << entries * sizeof(std::uint64_t);
  EXPECT_GE(written, 3 * page);
  this->while_one_is_read([&] {
    this->set(1, 10);
    EXPECT_EQ(this->get(0), 2U);
    this->set(1, 11);
    for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(this->get(i * 20'000), 1497 + i);
    for (std::size_t i = 7; i < entries; i += 7) ASSERT_EQ(this->get(i), i + 1);
  });
}

TYPED_TEST(SeveralReplicas, that_missed_more_get_more) {
  this->attach();
  this->fill();
  this->use_all();
  std::vector<std::uint64_t> costs;
  for (const std::size_t pages : {2, 20, 60}) {
    for (std::size_t i = 0; i < 1500; ++i) this->set(i % pages * page / 8, i);
    costs.push_back(bytes_written_by([&] { this->use_all(); }));
  }
  EXPECT_LE(costs[0], 7 * page);
  EXPECT_LE(costs[1], 25 * page);
  EXPECT_LE(costs[2], 65 * page);
  EXPECT_GE(costs[2], 60 * page);
}

template <class Manager>
class RememberedTransitions : public ReplicaCopy<Manager> {
 protected:
  static constexpr std::size_t mib = std::size_t{1} << 20;

  /// 100,000 numbers at a time: 12,500 lines.
  void set_all(int times) {
    for (int i = 0; i < times; ++i) {
      this->manager_->update(this->here_, [=](array& a) {
        for (std::size_t at = 0; at < entries; ++at) a.set(at, at + i);
      });
    }
  }
};
using redo_engines = testing::Types<redo<D>, redo_timed<D>, redo_opt<D>>;
TYPED_TEST_SUITE(RememberedTransitions, redo_engines);

// 128 of them were kept, whatever their size, with what lines held before and after.
TYPED_TEST(RememberedTransitions, take_bounded_memory) {
  this->attach();
  this->fill();
  this->set_all(30);
  EXPECT_LT(this->manager_->ring_bytes(), 24 * this->mib);
  for (std::size_t i = 0; i < 200; ++i) this->set(i, i);
  EXPECT_LT(this->manager_->ring_bytes(), this->mib);
}

TYPED_TEST(RememberedTransitions, are_not_missed_where_they_are_forgotten) {
  this->attach();
  this->fill();
  this->use_all();
  for (const int large : {1, 4, 20}) {
    this->while_one_is_read([&] {
      this->set(1, 10);
      this->set_all(large);
      for (std::size_t i = 0; i < 5; ++i) this->set(i, 100 + i);
    });
    // The replica that was read has missed all of that.
    for (int turn = 0; turn < 3; ++turn) {
      this->while_one_is_read([&] {
        this->set(7, turn);
        for (std::size_t i = 0; i < 5; ++i) ASSERT_EQ(this->get(i), 100 + i);
        for (std::size_t i = 8; i < entries; ++i) ASSERT_EQ(this->get(i), i + large - 1);
      });
    }
  }
}

TYPED_TEST(ReplicaCopy, writes_after_an_opening_what_differs) {
  for (const bool clean : {false, true}) {
    this->attach();
    this->fill();
    this->set(5, 7);
    clean ? this->close() : this->crash();
    this->pool_.open();
    this->manager_.reset(new TypeParam(*this->pool_, "all", three));
    const std::uint64_t written = bytes_written_by([&] {
      this->here_ = this->manager_->template root<array>("array");
      this->set(50'000, 3);
    });
    EXPECT_LE(written, 64 * 64U) << "of " << entries * sizeof(std::uint64_t);
    this->set(6, 9);
    EXPECT_EQ(this->get(5), 7U);
    EXPECT_EQ(this->get(6), 9U);
    EXPECT_EQ(this->get(50'000), 3U);
    for (std::size_t i = 7; i < 50'000; i += 7) ASSERT_EQ(this->get(i), i + 1);
    this->close();
    this->pool_.open();
  }
}

TEST(ChangedPages, are_found_by_number_and_range) {
  detail::changed_pages<D> pages(64 * page);
  using ranges = std::vector<std::pair<std::size_t, std::size_t>>;
  const auto after = [&](std::uint64_t number, std::size_t begin, std::size_t end) {
    ranges found;
    pages.for_each_after(number, begin, end,
                         [&](std::size_t from, std::size_t to) { found.emplace_back(from, to); });
    return found;
  };
  EXPECT_EQ(after(0, 0, 64 * page), ranges{});
  for (const std::size_t line : {64, 100, 127}) pages.note(line, 5);  // page 1
  pages.note(128, 6);                                                 // page 2
  pages.note(64 * 63, 7);                                             // the last one
  pages.note(70, 4);                                                  // late
  EXPECT_EQ(after(4, 0, 64 * page), (ranges{{page, 3 * page}, {63 * page, 64 * page}}));
  EXPECT_EQ(after(5, 0, 64 * page), (ranges{{2 * page, 3 * page}, {63 * page, 64 * page}}));
  EXPECT_EQ(after(4, page + 64, 2 * page + 128), (ranges{{page + 64, 2 * page + 128}}));
  EXPECT_EQ(after(4, 3 * page, 63 * page), ranges{});
  EXPECT_EQ(after(7, 0, 64 * page), ranges{});
  EXPECT_EQ(after(0, 64, 64), ranges{});
}

}  // namespace
}  // namespace outlast::tx
