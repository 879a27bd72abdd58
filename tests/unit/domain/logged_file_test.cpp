// Goal: a fence passes the lines that its thread noted to the log of their pool, once each.
// Concurrent fences share a batch, a word is in the batch of its lines, and an error poisons the
// pool that it concerns.
// Method: memory registered as pools, and logs that record their calls.
#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::domain {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t pool_size = std::size_t{1} << 14;

/// Memory that the domain takes for a pool, and its log.
class fake_pool final : public line_log {
 public:
  using indices = std::vector<std::pair<std::size_t, std::size_t>>;  // first line, how many

  explicit fake_pool(const std::string& path) {
    logged_file::pool_opened(bytes_, pool_size, path, *this);
  }
  ~fake_pool() override { logged_file::pool_closed(bytes_); }

  int append(std::span<const line_range> lines, std::span<const word_store> words) override {
    ++appends;
    if (throws) throw std::bad_alloc();
    std::size_t wanted = 0;
    for (const line_range& each : lines) wanted += each.lines;
    if (wanted > room) return no_room;
    last.clear();
    last_words.clear();
    for (const word_store& each : words) {
      last_words.push_back(each.value);
      each.word->store(each.value, std::memory_order_relaxed);
    }
    for (const line_range& each : lines) {
      last.emplace_back((each.first - reinterpret_cast<std::uintptr_t>(bytes_)) / line, each.lines);
    }
    if (wait_for_others) std::this_thread::yield();
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return std::exchange(next_error, 0);
  }
  int tidy() override { return std::exchange(tidy_error, 0); }
  int checkpoint() override {
    ++checkpoints;
    return 0;
  }
  bool provide(std::uint64_t lines) override { return lines <= room; }
  void own(const owned_part&, std::uint64_t) override {}
  void disown(std::uint64_t) noexcept override {}
  int relieve() override {
    ++reliefs;
    return std::exchange(relief_error, 0);
  }
  std::byte* map_through(std::uintptr_t first, std::size_t) override {
    return reinterpret_cast<std::byte*>(first);
  }
  int sync_through() override {
    ++syncs_through;
    return std::exchange(next_error, 0);
  }
  [[nodiscard]] log_counters counters() const noexcept override {
    return {.batches = appends.load()};
  }

  [[nodiscard]] const std::byte* at(std::size_t offset) const { return bytes_ + offset; }
  [[nodiscard]] std::byte* at(std::size_t offset) { return bytes_ + offset; }
  [[nodiscard]] std::byte* bytes() noexcept { return bytes_; }
  /// A word at the beginning of a line.
  [[nodiscard]] std::atomic<std::uint64_t>& word(std::size_t index) {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(bytes_ + index * line);
  }

  std::atomic<std::uint64_t> appends = 0;
  unsigned syncs_through = 0;
  unsigned checkpoints = 0;
  unsigned reliefs = 0;
  indices last;
  std::vector<std::uint64_t> last_words;
  std::function<void()> meanwhile;      // while the next batch is on its way
  std::size_t room = pool_size / line;  // lines of a batch
  int next_error = 0;
  int tidy_error = 0;
  int relief_error = 0;
  bool throws = false;
  bool wait_for_others = false;

 private:
  alignas(line) std::byte bytes_[pool_size]{};
};

class LoggedFile : public testing::Test {
 protected:
  static std::string failure_of_persist(const fake_pool& pool, std::size_t offset = 0) {
    logged_file::pwb(pool.at(offset));
    try {
      logged_file::psync();
    } catch (const error& failure) {
      EXPECT_EQ(failure.reason(), errc::io_failure);
      return failure.what();
    }
    return "";
  }

  fake_pool first{"/pools/first"};
  fake_pool second{"/pools/second"};
};

TEST_F(LoggedFile, a_fence_without_a_noted_line_does_nothing) {
  logged_file::psync();
  EXPECT_EQ(first.appends.load(), 0U);
}

TEST_F(LoggedFile, a_fence_hands_over_each_noted_line_once_in_order) {
  for (const std::size_t offset : {700U, 64U, 0U, 130U, 100U, 700U, 767U}) {
    logged_file::pwb(first.at(offset));
  }
  logged_file::psync();
  EXPECT_EQ(first.last, (fake_pool::indices{{0, 3}, {10, 2}}));
  EXPECT_EQ(first.appends.load(), 1U);
  logged_file::psync();
  EXPECT_EQ(first.appends.load(), 1U) << "nothing is noted any more";
}

TEST_F(LoggedFile, a_flush_of_many_bytes_is_one_range) {
  flush<logged_file>(first.at(60), 1000);
  logged_file::psync();
  EXPECT_EQ(first.last, (fake_pool::indices{{0, 17}}));
}

TEST_F(LoggedFile, a_fence_hands_over_streamed_lines) {
  const std::string bytes(130, 'a');
  logged_file::stream(first.at(64), bytes.data(), bytes.size());
  logged_file::stream(first.at(640), bytes.data(), 0);
  logged_file::psync();
  EXPECT_EQ(first.last, (fake_pool::indices{{1, 3}}));
}

TEST_F(LoggedFile, each_pool_gets_its_own_lines) {
  logged_file::pwb(second.at(64));
  logged_file::pwb(first.at(128));
  logged_file::psync();
  EXPECT_EQ(first.last, (fake_pool::indices{{2, 1}}));
  EXPECT_EQ(second.last, (fake_pool::indices{{1, 1}}));
}

TEST_F(LoggedFile, memory_of_no_pool_needs_no_log) {
  alignas(line) static std::byte elsewhere[line];
  logged_file::pwb(elsewhere);
  EXPECT_NO_THROW(logged_file::psync());
  EXPECT_FALSE(logged_file::poisoned(elsewhere));
  EXPECT_EQ(logged_file::counters(elsewhere).batches, 0U);
}

TEST_F(LoggedFile, a_device_error_names_the_pool_and_the_cause_and_stays) {
  first.next_error = ENOSPC;
  const std::string message = failure_of_persist(first);
  EXPECT_NE(message.find("/pools/first"), std::string::npos) << message;
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
  EXPECT_NE(failure_of_persist(first), "") << "a later success proves nothing";
  EXPECT_TRUE(logged_file::poisoned(first.at(pool_size - 1)));
  EXPECT_EQ(first.appends.load(), 1U) << "a log that has failed is left alone";
}

TEST_F(LoggedFile, another_pool_is_synced_all_the_same) {
  first.next_error = EIO;
  logged_file::pwb(first.at(0));
  EXPECT_NE(failure_of_persist(second), "");
  EXPECT_EQ(second.appends.load(), 1U);
  EXPECT_FALSE(logged_file::poisoned(second.at(0)));
  EXPECT_EQ(failure_of_persist(second), "");
}

TEST_F(LoggedFile, a_checkpoint_that_fails_fails_the_next_fence_not_the_last) {
  first.tidy_error = EIO;
  EXPECT_EQ(failure_of_persist(first), "") << "what is in the log is durable";
  EXPECT_NE(failure_of_persist(first), "");
}

TEST_F(LoggedFile, a_log_that_runs_out_of_memory_may_be_asked_again) {
  first.throws = true;
  logged_file::pwb(first.at(0));
  EXPECT_THROW(logged_file::psync(), std::bad_alloc);
  EXPECT_THROW(logged_file::publish(first.word(2), 7), std::bad_alloc);
  EXPECT_EQ(first.word(2), 0U);
  EXPECT_FALSE(logged_file::poisoned(first.at(0)));
  first.throws = false;
  std::thread([&] { EXPECT_EQ(failure_of_persist(first, 5 * line), ""); }).join();
  EXPECT_EQ(first.last, (fake_pool::indices{{0, 1}, {5, 1}}));
  logged_file::publish(first.word(2), 7);
  EXPECT_EQ(first.word(2), 7U);
}

TEST_F(LoggedFile, a_fence_without_room_leaves_its_lines_for_the_next_batch) {
  first.room = 1;
  flush<logged_file>(first.at(0), 3 * line);
  EXPECT_THROW(logged_file::psync(), out_of_space);
  EXPECT_FALSE(logged_file::poisoned(first.at(0)));
  first.room = 4;
  std::thread([&] { EXPECT_EQ(failure_of_persist(first, 5 * line), ""); }).join();
  EXPECT_EQ(first.last, (fake_pool::indices{{0, 3}, {5, 1}}));
}

TEST_F(LoggedFile, a_word_with_lines_that_find_no_room_is_refused_and_the_others_are_not) {
  const std::vector<std::byte> content(line, std::byte{1});
  std::vector<line_store> many;
  for (std::size_t i = 10; i < 20; ++i) many.push_back({first.bytes() + i * line, content.data()});
  const std::vector<line_store> few{many.front()};
  first.room = 4;
  std::thread large;
  std::thread small;
  std::thread plain;
  std::thread fence;
  first.meanwhile = [&] {
    large = std::thread(
        [&] { EXPECT_THROW(logged_file::publish(first.word(2), 7, many), out_of_space); });
    small = std::thread([&] { logged_file::publish(first.word(3), 8, few); });
    plain = std::thread([&] { logged_file::publish(first.word(4), 9); });
    fence = std::thread([&] { EXPECT_EQ(failure_of_persist(first, 30 * line), ""); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most of them come in time
  };
  EXPECT_EQ(failure_of_persist(first), "");
  for (std::thread* each : {&large, &small, &plain, &fence}) each->join();
  EXPECT_EQ(first.word(2), 0U);
  EXPECT_EQ(first.word(3), 8U);
  EXPECT_EQ(first.word(4), 9U);
  first.room = 20;
  logged_file::publish(first.word(2), 7, many);
  EXPECT_EQ(first.word(2), 7U);
}

TEST_F(LoggedFile, a_thread_that_waits_for_a_refused_word_gets_the_error) {
  first.room = 0;
  std::atomic<unsigned> refused{0};
  const auto publish = [&] {
    try {
      logged_file::publish(first.word(2), 7);
    } catch (const out_of_space&) {
      ++refused;
    }
  };
  std::vector<std::thread> crew;
  for (int i = 0; i < 4; ++i) crew.emplace_back(publish);
  for (std::thread& each : crew) each.join();
  EXPECT_EQ(refused, 4U);
  first.room = 1;
  publish();
  EXPECT_EQ(refused, 4U);
  EXPECT_EQ(first.word(2), 7U);
}

TEST_F(LoggedFile, asks_the_log_for_the_room_of_a_publication) {
  first.room = 5;
  EXPECT_TRUE(logged_file::provide(first.at(line), 4));
  EXPECT_FALSE(logged_file::provide(first.at(line), 5)) << "the word has a line, too";
  static const std::byte elsewhere{};
  EXPECT_TRUE(logged_file::provide(&elsewhere, 5));
}

TEST_F(LoggedFile, a_word_goes_with_the_lines_that_were_staged_before_it) {
  logged_file::pwb(first.at(5 * line));
  logged_file::stage();
  EXPECT_EQ(first.appends, 0U);
  logged_file::publish(first.word(2), 7);
  EXPECT_EQ(first.appends, 1U);
  EXPECT_EQ(first.last, (fake_pool::indices{{2, 1}, {5, 1}}));
  EXPECT_EQ(first.last_words, (std::vector<std::uint64_t>{7}));
  EXPECT_EQ(first.word(2), 7U);
  logged_file::psync();
  EXPECT_EQ(first.appends, 1U) << "what was staged is noted no more";
}

TEST_F(LoggedFile, a_word_that_has_its_value_needs_no_batch) {
  logged_file::publish(first.word(2), 7);
  logged_file::publish(first.word(2), 7);
  logged_file::publish(first.word(2), 5);
  EXPECT_EQ(first.appends, 1U);
  EXPECT_EQ(first.word(2), 7U);
}

TEST_F(LoggedFile, what_is_published_while_a_batch_is_on_its_way_is_in_the_next) {
  std::thread later;
  first.meanwhile = [&] {
    std::thread([&] {  // like another thread whose lines are not copied yet
      logged_file::pwb(first.at(6 * line));
      logged_file::stage();
    })
        .join();
    later = std::thread([&] { logged_file::publish(first.word(2), 8); });
    EXPECT_EQ(first.word(2), 7U);
    EXPECT_EQ(first.last, (fake_pool::indices{{2, 1}}));
  };
  logged_file::publish(first.word(2), 7);
  later.join();
  EXPECT_EQ(first.appends, 2U);
  EXPECT_EQ(first.last, (fake_pool::indices{{2, 1}, {6, 1}}));
  EXPECT_EQ(first.word(2), 8U);
}

TEST_F(LoggedFile, who_publishes_what_is_on_its_way_waits_for_that) {
  std::thread other;
  first.meanwhile = [&] { other = std::thread([&] { logged_file::publish(first.word(2), 7); }); };
  logged_file::publish(first.word(2), 7);
  other.join();
  EXPECT_EQ(first.appends, 1U);
}

TEST_F(LoggedFile, a_word_of_no_pool_gets_its_value) {
  std::atomic<std::uint64_t> word = 1;
  logged_file::publish(word, 2);
  EXPECT_EQ(word, 2U);
}

TEST_F(LoggedFile, a_word_that_is_not_durable_says_so) {
  first.next_error = EIO;
  EXPECT_THROW(logged_file::publish(first.word(2), 7), error);
  EXPECT_THROW(logged_file::publish(first.word(2), 7), error) << "it is in memory by now";
  logged_file::pwb(first.at(0));
  EXPECT_THROW(logged_file::stage(), error);
}

TEST_F(LoggedFile, fences_that_are_made_at_the_same_time_share_a_batch) {
  constexpr unsigned threads = 4;
  constexpr unsigned max_rounds = 20'000;
  first.wait_for_others = true;
  std::atomic<unsigned> fences{0};
  std::atomic<bool> shared{false};
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] {
      for (unsigned i = 0; i < max_rounds && !shared.load(); ++i) {
        logged_file::pwb(first.at((2 * t + 1) * line));
        logged_file::psync();
        const unsigned so_far = ++fences;
        if (logged_file::counters(first.at(0)).batches + threads < so_far) shared.store(true);
      }
    });
  }
  for (std::thread& each : crew) each.join();
  EXPECT_TRUE(shared.load());
  EXPECT_LT(first.appends.load(), fences.load());
}

TEST_F(LoggedFile, a_poisoned_pool_is_not_checkpointed) {
  logged_file::checkpoint(first.at(0));
  EXPECT_EQ(first.checkpoints, 1U);
  first.next_error = EIO;
  EXPECT_NE(failure_of_persist(first), "");
  EXPECT_THROW(logged_file::checkpoint(first.at(0)), error);
  EXPECT_EQ(first.checkpoints, 1U) << "memory holds what the failed batch was to make durable";
}

TEST_F(LoggedFile, what_finds_no_room_relieves_nothing_and_fails_nothing) {
  first.relief_error = line_log::no_room;
  logged_file::relieve(first.at(0));
  first.relief_error = EIO;
  EXPECT_THROW(logged_file::relieve(first.at(0)), error);
  EXPECT_EQ(first.reliefs, 2U);
  EXPECT_THROW(logged_file::relieve(first.at(0)), error);
  EXPECT_EQ(first.reliefs, 2U);
}

}  // namespace
}  // namespace outlast::domain
