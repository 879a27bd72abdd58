// Goal: what a thread has flushed and not waited for is waited for before somebody relies on it,
// and not more often than that. Method: counts of flushes and fences.
#include "tests/support/costs.hpp"

#include <outlast/domain.hpp>
#include <outlast/sets/detail/superseded_lines.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <thread>

namespace outlast::sets::detail {
namespace {

using test::cost;
using test::cost_of;
using counted = domain::counting<domain::adr>;
using lines = superseded_lines<counted>;

struct alignas(64) line {
  std::byte bytes[64];
};

class superseded_lines_of_two : public ::testing::Test {
 protected:
  superseded_lines_of_two() { domain::fence<counted>(); }

  std::array<line, 40> memory_{};
  lines lines_;
};

TEST_F(superseded_lines_of_two, nothing_costs_nothing) {
  EXPECT_EQ(cost_of([&] { lines_.settle(); }), (cost{0, 0}));
}

TEST_F(superseded_lines_of_two, a_line_is_flushed_with_the_next_wait_or_by_whoever_needs_it) {
  EXPECT_EQ(cost_of([&] { lines_.add(&memory_[0]); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { lines_.flush_before_wait(); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { lines_.flush_before_wait(); }), (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { lines_.settle(); }), (cost{1, 1})) << "nobody has waited yet";
  EXPECT_EQ(cost_of([&] { lines_.settle(); }), (cost{0, 0}));
  lines_.add(&memory_[1]);
  EXPECT_EQ(cost_of([&] { lines_.settle(); }), (cost{1, 1})) << "nobody has flushed it";
}

TEST_F(superseded_lines_of_two, a_fence_of_the_thread_itself_is_enough) {
  lines_.add(&memory_[0]);
  lines_.flush_before_wait();
  domain::fence<counted>();
  // The thread finds out when it comes again; nobody else can know.
  lines_.add(&memory_[1]);
  EXPECT_EQ(cost_of([&] { lines_.flush_before_wait(); }), (cost{1, 0}));
  EXPECT_EQ(cost_of([&] { lines_.settle(); }), (cost{1, 1})) << "the second one alone";
}

TEST_F(superseded_lines_of_two, a_thread_that_never_waits_waits_once_in_sixteen) {
  EXPECT_EQ(cost_of([&] {
              for (std::size_t i = 0; i < 16; ++i) lines_.add(&memory_[i]);
            }),
            (cost{0, 0}));
  EXPECT_EQ(cost_of([&] { lines_.add(&memory_[16]); }), (cost{16, 1}));
  EXPECT_EQ(cost_of([&] {
              for (std::size_t i = 17; i < 32; ++i) lines_.add(&memory_[i]);
            }),
            (cost{0, 0}));
}

TEST_F(superseded_lines_of_two, another_threads_lines_are_settled_for_it) {
  std::thread([&] {
    for (std::size_t i = 0; i < 3; ++i) lines_.add(&memory_[i]);
  }).join();
  lines_.add(&memory_[3]);
  EXPECT_EQ(cost_of([&] { lines_.settle(); }), (cost{4, 1}));
}

}  // namespace
}  // namespace outlast::sets::detail
