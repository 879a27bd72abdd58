// Goal: the simulated memory allows exactly the outcomes that the machines do.
// Method: small programs of one or two threads. Every image that any crash may leave, over some
// hundred interleavings, is collected and compared with the set that theory allows.
#include <outlast/domain/persist.hpp>
#include <outlast/verify/simulated.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using D = domain::simulated;
using verify::memory_model;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

/// x and x2 share a line; y, z and flag have one each.
struct cells {
  alignas(64) std::atomic<std::uint64_t> x;
  std::atomic<std::uint64_t> x2;
  alignas(64) std::atomic<std::uint64_t> y;
  alignas(64) std::atomic<std::uint64_t> z;
  alignas(64) std::atomic<std::uint64_t> flag;
};

using thread = std::function<void(cells&)>;
using outcomes = std::set<std::string>;

/// Reads, from an image, what the test is about.
using view = std::function<std::string(const cells&)>;

std::string digits(std::uint64_t a, std::uint64_t b) {
  return std::to_string(a) + std::to_string(b);
}
std::string x_and_y(const cells& c) { return digits(c.x.load(relaxed), c.y.load(relaxed)); }
std::string x_and_x2(const cells& c) { return digits(c.x.load(relaxed), c.x2.load(relaxed)); }

class collector final : public verify::crash_observer {
 public:
  collector(const memory_model& model, const view& see) : machine_(4096, 2, model, {}), see_(see) {
    machine_.observe_crash_points(this);
    machine_.offer_crash_after_stores(true);
  }

  outcomes run(const std::vector<thread>& threads) {
    const auto order = verify::random_strategy();
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      machine_.memory().enter_checkpoint();
      crash_point();
      machine_.prepare_decisions(verify::random(seed), 20);
      const verify::mishap ended = machine_.run_threads(
          static_cast<unsigned>(threads.size()), [&](unsigned t) { threads[t](memory()); }, *order);
      EXPECT_FALSE(ended) << *ended;
      crash_point();
      machine_.memory().leave();
    }
    return seen_;
  }

  void crash_point() override {
    verify::crash_choice choice;
    choose(choice);
  }

 private:
  cells& memory() { return *reinterpret_cast<cells*>(machine_.memory().bytes().data()); }

  void choose(verify::crash_choice& choice) {
    const auto dirty = machine_.memory().dirty_lines();
    if (choice.size() == dirty.size()) {
      machine_.memory().enter(choice);
      seen_.insert(see_(memory()));
      machine_.memory().leave();
      return;
    }
    for (const std::uint64_t set : machine_.memory().survivor_sets(dirty[choice.size()])) {
      choice.push_back(set);
      choose(choice);
      choice.pop_back();
    }
  }

  verify::machine machine_;
  view see_;
  outcomes seen_;
};

outcomes run(const std::vector<thread>& threads, const view& see = x_and_y,
             const memory_model& model = {}) {
  return collector(model, see).run(threads);
}

void set(std::atomic<std::uint64_t>& word, std::uint64_t value = 1,
         std::memory_order order = release) {
  D::store(word, value, order);
}
void wait_for(std::atomic<std::uint64_t>& word) {
  while (D::load(word, acquire) == 0) D::relax();
}

constexpr memory_model x86{.rmw_fences = true};
constexpr memory_model weak{.weak_same_line = true};
constexpr memory_model persistent_caches{.cache_persistent = true};

const outcomes anything{"00", "01", "10", "11"};
const outcomes x_before_y{"00", "10", "11"};

TEST(Litmus, a_store_may_be_lost_or_survive) {
  EXPECT_EQ(run({[](cells& c) { set(c.x); }}), (outcomes{"00", "10"}));
}

TEST(Litmus, lines_persist_in_any_order) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), set(c.y); }}), anything);
}

TEST(Litmus, one_line_persists_in_order) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), set(c.x2); }}, x_and_x2), x_before_y);
}

TEST(Litmus, weak_machines_reorder_relaxed_stores_to_one_line) {
  const thread program = [](cells& c) { set(c.x, 1, relaxed), set(c.x2, 1, relaxed); };
  EXPECT_EQ(run({program}, x_and_x2, weak), anything);
  EXPECT_EQ(run({program}, x_and_x2), x_before_y);
}

TEST(Litmus, weak_machines_keep_a_release_behind_earlier_stores_to_its_line) {
  const thread program = [](cells& c) { set(c.x, 1, relaxed), set(c.x2, 1, release); };
  EXPECT_EQ(run({program}, x_and_x2, weak), x_before_y);
}

TEST(Litmus, a_flush_without_a_fence_orders_nothing) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), D::pwb(&c.x), set(c.y); }}), anything);
}

TEST(Litmus, a_fence_without_a_flush_orders_nothing) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), D::pfence(), set(c.y); }}), anything);
}

TEST(Litmus, flush_and_fence_order_lines) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), D::pwb(&c.x), D::pfence(), set(c.y); }}), x_before_y);
}

TEST(Litmus, psync_fences_too) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), D::pwb(&c.x), D::psync(), set(c.y); }}), x_before_y);
}

TEST(Litmus, a_flush_before_the_store_guarantees_nothing) {
  EXPECT_EQ(run({[](cells& c) { D::pwb(&c.x), set(c.x), D::pfence(), set(c.y); }}), anything);
}

TEST(Litmus, a_flush_covers_what_was_stored_before_it) {
  const outcomes seen =
      run({[](cells& c) { set(c.x), D::pwb(&c.x), set(c.x, 2), D::pfence(), set(c.y); }});
  EXPECT_EQ(seen, (outcomes{"00", "10", "20", "11", "21"}));
}

TEST(Litmus, a_flush_covers_the_whole_line) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), D::pwb(&c.x2), D::pfence(), set(c.y); }}), x_before_y);
}

TEST(Litmus, later_values_replace_earlier_ones) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), set(c.x, 2); }}), (outcomes{"00", "10", "20"}));
}

TEST(Litmus, a_persisted_message_precedes_its_answer) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), D::pwb(&c.x), D::pfence(), set(c.flag); },
                 [](cells& c) { wait_for(c.flag), set(c.y); }}),
            x_before_y);
}

TEST(Litmus, an_unpersisted_message_may_be_lost_behind_its_answer) {
  EXPECT_EQ(
      run({[](cells& c) { set(c.x), set(c.flag); }, [](cells& c) { wait_for(c.flag), set(c.y); }}),
      anything);
}

TEST(Litmus, the_reader_may_persist_what_it_read) {
  EXPECT_EQ(run({[](cells& c) { set(c.x); },
                 [](cells& c) { wait_for(c.x), D::pwb(&c.x), D::pfence(), set(c.y); }}),
            x_before_y);
}

TEST(Litmus, a_fence_completes_only_flushes_of_its_own_thread) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), D::pwb(&c.x), set(c.flag); },
                 [](cells& c) { wait_for(c.flag), D::pfence(), set(c.y); }}),
            anything);
}

TEST(Litmus, a_flush_of_another_thread_may_be_waited_for_by_a_flag) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), wait_for(c.flag), set(c.y); },
                 [](cells& c) { wait_for(c.x), D::pwb(&c.x), D::pfence(), set(c.flag); }}),
            x_before_y);
}

TEST(Litmus, locked_instructions_fence_on_x86_alone) {
  const thread program = [](cells& c) {
    set(c.x), D::pwb(&c.x), D::fetch_add(c.z, 1, relaxed), set(c.y);
  };
  EXPECT_EQ(run({program}, x_and_y, x86), x_before_y);
  EXPECT_EQ(run({program}), anything);
}

TEST(Litmus, a_failed_compare_and_swap_fences_on_x86_too) {
  const thread program = [](cells& c) {
    std::uint64_t wrong = 9;
    set(c.x), D::pwb(&c.x), D::compare_exchange(c.z, wrong, 1, relaxed), set(c.y);
    EXPECT_EQ(wrong, 0U);
  };
  EXPECT_EQ(run({program}, x_and_y, x86), x_before_y);
}

TEST(Litmus, a_failed_compare_and_swap_stores_nothing) {
  EXPECT_EQ(run({[](cells& c) {
              std::uint64_t wrong = 9;
              EXPECT_FALSE(D::compare_exchange(c.x, wrong, 1, acquire));
            }}),
            (outcomes{"00"}));
}

TEST(Litmus, streamed_bytes_wait_for_a_fence) {
  const std::uint64_t one = 1;
  EXPECT_EQ(run({[&](cells& c) { D::stream(&c.x, &one, 8), set(c.y); }}), anything);
  EXPECT_EQ(run({[&](cells& c) { D::stream(&c.x, &one, 8), D::pfence(), set(c.y); }}), x_before_y);
}

TEST(Litmus, streamed_bytes_are_unordered_within_a_line) {
  const std::uint64_t one = 1;
  EXPECT_EQ(run({[&](cells& c) { D::stream(&c.x, &one, 8), D::stream(&c.x2, &one, 8); }}, x_and_x2),
            anything);
}

TEST(Litmus, a_flush_does_not_complete_streamed_bytes_of_another_thread) {
  const std::uint64_t one = 1;
  EXPECT_EQ(run({[&](cells& c) { D::stream(&c.x, &one, 8), set(c.flag); },
                 [](cells& c) { wait_for(c.flag), D::pwb(&c.x), D::pfence(), set(c.y); }}),
            anything);
}

TEST(Litmus, copies_tear_between_words_only) {
  const std::uint64_t ones[2] = {1, 1};
  EXPECT_EQ(run({[&](cells& c) { D::write(&c.x, ones, 16); }}, x_and_x2), x_before_y);
}

TEST(Litmus, zeroing_is_a_store) {
  EXPECT_EQ(
      run({[&](cells& c) { set(c.x), D::pwb(&c.x), D::pfence(), set(c.y), D::zero(&c.x, 8); }}),
      (outcomes{"00", "10", "11", "01"}));
}

TEST(Litmus, parts_of_a_word_do_not_disturb_their_neighbours) {
  const std::uint8_t byte = 1;
  const outcomes seen = run({[&](cells& c) {
    auto* const bytes = reinterpret_cast<std::byte*>(&c.x);
    D::write(bytes, &byte, 1), D::write(bytes + 1, &byte, 1);
  }});
  EXPECT_EQ(seen, (outcomes{"00", "10", "2570"}));
}

TEST(Litmus, a_double_word_is_never_torn) {
  struct alignas(16) pair {
    std::uint64_t a, b;
  };
  const outcomes seen =
      run({[](cells& c) {
            auto& both = reinterpret_cast<std::atomic<pair>&>(c.x);
            pair none{0, 0};
            EXPECT_TRUE(D::compare_exchange(both, none, pair{1, 1}, std::memory_order_acq_rel));
          }},
          x_and_x2);
  EXPECT_EQ(seen, (outcomes{"00", "11"}));
}

TEST(Litmus, persistent_caches_keep_every_store_in_order) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), set(c.y); }}, x_and_y, persistent_caches), x_before_y);
}

TEST(Litmus, two_writers_of_a_line_share_its_order) {
  EXPECT_EQ(
      run({[](cells& c) { set(c.x), set(c.flag); }, [](cells& c) { wait_for(c.flag), set(c.x2); }},
          x_and_x2),
      x_before_y);
}

TEST(Litmus, two_flushes_share_one_fence) {
  EXPECT_EQ(run({[](cells& c) {
              set(c.x), D::pwb(&c.x), set(c.z), D::pwb(&c.z), D::pfence(), set(c.y);
            }}),
            x_before_y);
}

TEST(Litmus, a_conditional_fence_completes_a_pending_flush) {
  EXPECT_EQ(run({[](cells& c) { set(c.x), domain::persist<D>(&c.x, 8), set(c.y); }}), x_before_y);
}

}  // namespace
}  // namespace outlast::test
