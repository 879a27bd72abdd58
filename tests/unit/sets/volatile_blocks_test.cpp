// Goal: what some threads give back others use, also while threads are idle that have used some.
// Method: threads that take and give many blocks; how much memory that takes.
#include <outlast/domain.hpp>
#include <outlast/sets/detail/volatile_blocks.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <future>
#include <set>
#include <thread>
#include <vector>

namespace outlast::sets::detail {
namespace {

struct item {
  std::array<void*, 4> words;
};
using blocks_type = volatile_blocks<item, domain::process>;

constexpr std::size_t many = 10'000;

std::vector<void*> taken_from(blocks_type& blocks, std::size_t count) {
  std::vector<void*> taken;
  for (std::size_t i = 0; i < count; ++i) taken.push_back(blocks.take());
  return taken;
}

void give_all(blocks_type& blocks, const std::vector<void*>& taken) {
  for (void* const each : taken) blocks.give(each);
}

/// A thread that has done something, and lives.
class idle_thread {
 public:
  explicit idle_thread(const std::function<void()>& work)
      : thread_([this, work] {
          work();
          done_.set_value();
          ends_.get_future().wait();
        }) {
    done_.get_future().wait();
  }
  ~idle_thread() {
    ends_.set_value();
    thread_.join();
  }
  idle_thread(const idle_thread&) = delete;
  idle_thread& operator=(const idle_thread&) = delete;

 private:
  std::promise<void> done_;
  std::promise<void> ends_;
  std::thread thread_;
};

TEST(VolatileBlocks, are_used_again_by_the_thread_that_gave_them) {
  blocks_type blocks;
  give_all(blocks, taken_from(blocks, many));
  const std::size_t reserved = blocks.reserved_bytes();
  for (int i = 0; i < 10; ++i) give_all(blocks, taken_from(blocks, many));
  EXPECT_EQ(blocks.reserved_bytes(), reserved);
}

TEST(VolatileBlocks, are_used_by_others_while_threads_are_idle_that_have_used_one) {
  blocks_type blocks;
  give_all(blocks, taken_from(blocks, many));
  const std::size_t reserved = blocks.reserved_bytes();
  const auto use_one = [&] { blocks.give(blocks.take()); };
  const idle_thread one(use_one);
  const idle_thread another(use_one);
  std::thread([&] { give_all(blocks, taken_from(blocks, many - 1000)); }).join();
  EXPECT_EQ(blocks.reserved_bytes(), reserved);
}

TEST(VolatileBlocks, are_never_two_threads_at_a_time) {
  blocks_type blocks;
  std::array<std::vector<void*>, 4> taken;
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < 300; ++i) {
        mine = taken_from(blocks, 50 + i * 7 % 900);
        for (void* const each : mine) static_cast<item*>(each)->words.fill(&mine);
        std::size_t wrong = 0;
        for (void* const each : mine) wrong += static_cast<item*>(each)->words[3] != &mine;
        EXPECT_EQ(wrong, 0U);
        if (i + 1 < 300) give_all(blocks, mine);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  std::set<void*> all;
  std::size_t count = 0;
  for (const auto& mine : taken) {
    all.insert(mine.begin(), mine.end());
    count += mine.size();
  }
  EXPECT_EQ(all.size(), count);
}

}  // namespace
}  // namespace outlast::sets::detail
