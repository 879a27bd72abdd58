// Goal: flush covers each touched line once, and a fence is issued only if a flush is outstanding.
// Method: a domain that records its calls.
#include <outlast/domain.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace outlast::domain {
namespace {

/// Writes down flushed lines, fences and the line of the source that asked for them.
template <bool Flushes>
struct recording : hardware_access {
  static inline std::vector<std::uintptr_t> lines;
  static inline int fences = 0;
  static inline int syncs = 0;
  static inline unsigned asked_in_line = 0;

  static constexpr std::string_view name() noexcept { return "recording"; }
  static constexpr kind current_kind() noexcept { return kind::simulated; }
  static constexpr bool flushes() noexcept { return Flushes; }
  static void pwb(const void* address, site where = site::current()) {
    lines.push_back(reinterpret_cast<std::uintptr_t>(address));
    asked_in_line = where.line();
  }
  static void pfence(site where = site::current()) {
    ++fences;
    asked_in_line = where.line();
  }
  static void psync(site where = site::current()) {
    ++syncs;
    pfence(where);
  }
};

using flushing = recording<true>;
using flushless = recording<false>;
static_assert(persistence_domain<flushing> && persistence_domain<flushless>);

alignas(64) char memory[256];

class Persist : public testing::Test {
 protected:
  void SetUp() override {
    flushing::lines.clear();
    flushing::fences = flushless::fences = 0;
    flushing::syncs = flushless::syncs = 0;
    flushless::lines.clear();
    base::this_thread().flush_pending = false;
  }
};

TEST_F(Persist, flush_covers_each_touched_line_once_from_its_start) {
  flush<flushing>(memory + 60, 70);
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  EXPECT_EQ(flushing::lines, (std::vector<std::uintptr_t>{first, first + 64, first + 128}));
  EXPECT_EQ(flushing::fences, 0);
}

TEST_F(Persist, a_fence_without_a_flush_is_not_issued) {
  fence<flushing>();
  EXPECT_EQ(flushing::fences, 0);
}

TEST_F(Persist, one_fence_serves_all_flushes_before_it) {
  flush<flushing>(memory, 1);
  flush<flushing>(memory + 128, 1);
  fence<flushing>();
  fence<flushing>();
  EXPECT_EQ(flushing::fences, 1);
  EXPECT_FALSE(base::this_thread().flush_pending);
}

TEST_F(Persist, persist_is_a_flush_and_its_fence) {
  persist<flushing>(memory, 64);
  EXPECT_EQ(flushing::lines.size(), 1U);
  EXPECT_EQ(flushing::fences, 1);
}

TEST_F(Persist, before_an_answer_the_store_buffer_is_emptied_with_or_without_flushes) {
  persist_before_return<flushing>(memory, 64);
  persist_before_return<flushless>(memory, 64);
  EXPECT_EQ(flushing::lines.size(), 1U);
  EXPECT_EQ(flushing::syncs, 1);
  EXPECT_EQ(flushless::syncs, 1);
  fence<flushing>();
  EXPECT_EQ(flushing::fences, 1) << "nothing waits any more";
}

TEST_F(Persist, pending_flushes_belong_to_the_thread_that_issued_them) {
  flush<flushing>(memory, 1);
  base::thread_context other;
  {
    const base::scoped_thread_context scope(other);
    fence<flushing>();
    EXPECT_EQ(flushing::fences, 0) << "the other thread has nothing to wait for";
  }
  fence<flushing>();
  EXPECT_EQ(flushing::fences, 1);
}

TEST_F(Persist, without_flushes_every_fence_still_orders_stores) {
  persist<flushless>(memory, sizeof memory);
  EXPECT_TRUE(flushless::lines.empty());
  EXPECT_EQ(flushless::fences, 1);
  EXPECT_FALSE(base::this_thread().flush_pending);
}

TEST_F(Persist, the_caller_is_the_site) {
  flush<flushing>(memory, 1);
  EXPECT_EQ(flushing::asked_in_line, __LINE__ - 1U);
  fence<flushing>();
  EXPECT_EQ(flushing::asked_in_line, __LINE__ - 1U);
  persist<flushing>(memory, 1);
  EXPECT_EQ(flushing::asked_in_line, __LINE__ - 1U);
}

}  // namespace
}  // namespace outlast::domain
