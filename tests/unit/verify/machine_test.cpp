// Goal: the machine survives every fault of a subject, is deterministic, and undoes crashes.
#include <outlast/domain/persist.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>

#include <cstdint>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using D = domain::simulated;
using verify::fault;
using verify::machine;
constexpr auto relaxed = std::memory_order_relaxed;

machine::limits small() { return {.steps = 2000}; }

std::atomic<std::uint64_t>& word(machine& m, std::size_t index = 0) {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(m.memory().bytes().data() + 64 * index);
}

/// Two threads that write down who runs.
std::string interleaving(machine& m, verify::strategy& order, std::uint64_t seed) {
  std::string trace;
  m.prepare_decisions(verify::random(seed), 10);
  const fault ended = m.run_threads(
      2,
      [&](unsigned t) {
        for (int i = 0; i < 5; ++i) {
          D::schedule_point();
          trace += static_cast<char>('a' + t);
        }
      },
      order);
  EXPECT_FALSE(ended);
  return trace;
}

TEST(Machine, repeats_an_interleaving_from_its_seed) {
  machine m(4096, 2, {}, small());
  const auto order = verify::random_strategy();
  const std::string first = interleaving(m, *order, 5);
  EXPECT_EQ(first, interleaving(m, *order, 5));
  EXPECT_NE(first, interleaving(m, *order, 6));
}

TEST(Machine, replays_recorded_decisions) {
  machine m(4096, 2, {}, small());
  const std::string first = interleaving(m, *verify::pct_strategy(3), 7);
  const auto again = verify::replay_strategy(m.decisions());
  EXPECT_EQ(first, interleaving(m, *again, 99));
}

TEST(Machine, gives_each_thread_its_own_context) {
  machine m(4096, 2, {}, small());
  std::vector<const void*> contexts(2);
  const fault ended = m.run_threads(
      2,
      [&](unsigned t) {
        contexts[t] = &base::this_thread();
        D::schedule_point();
        EXPECT_EQ(contexts[t], &base::this_thread());
      },
      *verify::random_strategy());
  EXPECT_FALSE(ended);
  EXPECT_NE(contexts[0], contexts[1]);
  EXPECT_NE(contexts[0], &base::this_thread());
}

TEST(Machine, switches_threads_inside_catch_blocks) {
  machine m(4096, 2, {}, small());
  const auto order = verify::random_strategy();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    m.prepare_decisions(verify::random(seed), 10);
    const fault ended = m.run_threads(
        2,
        [&](unsigned t) {
          for (int i = 0; i < 3; ++i) {
            try {
              throw std::runtime_error(std::to_string(t));
            } catch (const std::runtime_error& mine) {
              D::schedule_point();
              EXPECT_EQ(mine.what(), std::to_string(t));
              try {
                throw;
              } catch (const std::runtime_error& again) {
                EXPECT_EQ(again.what(), std::to_string(t));
              }
            }
          }
        },
        *order);
    EXPECT_FALSE(ended);
  }
}

TEST(Machine, reports_exceptions) {
  machine m(4096, 2, {}, small());
  const fault ended = m.run_alone([] { throw std::runtime_error("no luck"); });
  ASSERT_TRUE(ended);
  EXPECT_NE(ended->find("no luck"), std::string::npos);
}

TEST(Machine, ends_what_follows_a_wild_pointer) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer keeps synchronous signals to itself";
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer keeps synchronous signals to itself";
#endif
#endif
  machine m(4096, 2, {}, small());
  for (int i = 0; i < 3; ++i) {
    const fault ended = m.run_alone([] {
      // Not null: the sanitizer would stop a store to null before the machine can.
      auto* volatile nowhere = reinterpret_cast<volatile int*>(std::uintptr_t{64});
      *nowhere = 1;
    });
    ASSERT_TRUE(ended);
    EXPECT_NE(ended->find("signal"), std::string::npos) << *ended;
  }
  EXPECT_FALSE(m.run_alone([] {}));
}

TEST(Machine, ends_what_never_ends) {
  machine m(4096, 2, {}, small());
  const fault alone = m.run_alone([&] {
    while (D::load(word(m), relaxed) == 0) D::relax();
  });
  EXPECT_TRUE(alone);
  const fault threads = m.run_threads(
      2,
      [&](unsigned) {
        while (D::load(word(m), relaxed) == 0) D::relax();
      },
      *verify::random_strategy());
  EXPECT_TRUE(threads);
}

TEST(Machine, lets_a_spinning_thread_wait_for_another_under_any_priorities) {
  machine m(4096, 2, {}, small());
  const auto order = verify::pct_strategy(1);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    m.memory().enter_checkpoint();
    m.prepare_decisions(verify::random(seed), 10);
    const fault ended = m.run_threads(
        2,
        [&](unsigned t) {
          if (t == 0) {
            while (D::load(word(m), relaxed) == 0) D::relax();
          } else {
            D::store(word(m), 1, relaxed);
          }
        },
        *order);
    EXPECT_FALSE(ended) << *ended;
    m.memory().leave();
  }
}

TEST(Machine, runs_a_recovery_while_threads_are_suspended) {
  machine m(4096, 2, {}, small());
  const fault ended = m.run_threads(
      2,
      [&](unsigned t) {
        D::store(word(m, t), 1, relaxed);
        m.memory().enter(verify::crash_choice(m.memory().dirty_lines().size(), 0));
        const fault inner = m.run_alone([&] {
          EXPECT_EQ(D::load(word(m, t), relaxed), 0U);
          D::store(word(m, t), 7, relaxed);
        });
        EXPECT_FALSE(inner);
        m.memory().leave();
        EXPECT_EQ(D::load(word(m, t), relaxed), 1U);
      },
      *verify::random_strategy());
  EXPECT_FALSE(ended) << *ended;
}

TEST(Memory, undoes_a_crash_completely) {
  machine m(4096, 1, {}, small());
  D::store(word(m, 0), 1, relaxed);
  D::store(word(m, 1), 2, relaxed);
  D::pwb(&word(m, 0));
  const std::uint64_t hash = m.memory().image_hash({1, 1});
  m.memory().enter({1, 0});
  EXPECT_EQ(D::load(word(m, 0), relaxed), 1U);
  EXPECT_EQ(D::load(word(m, 1), relaxed), 0U);
  D::store(word(m, 2), 3, relaxed);
  m.memory().enter({0});
  EXPECT_EQ(D::load(word(m, 2), relaxed), 0U);
  m.memory().leave();
  m.memory().leave();
  EXPECT_EQ(D::load(word(m, 1), relaxed), 2U);
  EXPECT_EQ(D::load(word(m, 2), relaxed), 0U);
  EXPECT_EQ(m.memory().image_hash({1, 1}), hash);
  EXPECT_TRUE(m.memory().fence_matters(1));
  EXPECT_EQ(m.memory().foreign_store_anywhere(), nullptr);
}

TEST(Memory, tells_images_apart_by_content_alone) {
  machine m(4096, 1, {}, small());
  D::store(word(m, 0), 1, relaxed);
  const std::uint64_t survived = m.memory().image_hash({1});
  const std::uint64_t lost = m.memory().image_hash({0});
  EXPECT_NE(survived, lost);
  D::pwb(&word(m, 0));
  D::pfence();
  EXPECT_EQ(m.memory().image_hash({}), survived);
}

TEST(Memory, notices_stores_that_go_around_the_domain) {
  machine m(4096, 1, {}, small());
  EXPECT_EQ(m.memory().foreign_store_anywhere(), nullptr);
  word(m, 3).store(5, relaxed);
  EXPECT_EQ(m.memory().foreign_store_anywhere(), &word(m, 3));
  word(m, 3).store(0, relaxed);
  EXPECT_EQ(m.memory().foreign_store_anywhere(), nullptr);
}

TEST(Memory, takes_images_for_alike_that_differ_in_counters_that_recovery_clears) {
  machine m(4096, 1, {}, small());
  std::atomic<std::uint64_t>& counter = word(m, 0);
  std::atomic<std::uint64_t>& beside = *(&counter + 1);
  domain::count<D>(counter, 1, relaxed);
  D::store(beside, 1, relaxed);
  domain::count<D>(counter, ~std::uint64_t{0}, relaxed);
  D::store(beside, 2, relaxed);
  // The count with what precedes it; never without.
  EXPECT_EQ(m.memory().survivor_sets(0), (std::vector<std::uint64_t>{0b0001, 0b0111, 0b1111}));
}

TEST(Memory, writes_the_oldest_store_back_when_a_history_grows_too_long) {
  machine m(4096, 1, {}, small());
  for (std::uint64_t i = 1; i <= verify::memory::max_pending + 5; ++i)
    D::store(word(m), i, relaxed);
  EXPECT_EQ(m.memory().forced_write_backs(), 5U);
  EXPECT_EQ(m.memory().pending(0).size(), verify::memory::max_pending);
}

constexpr verify::memory_model with_buffers{.store_buffers = true};

/// Thread 0 stores, thread 1 writes down what it sees, before and after.
std::string seen_by_another(machine& m, verify::strategy& order, std::uint64_t seed) {
  std::string seen;
  m.memory().enter_checkpoint();
  m.prepare_decisions(verify::random(seed), 10);
  const fault ended = m.run_threads(
      2,
      [&](unsigned t) {
        for (int i = 0; i < 3; ++i) {
          if (t == 0) {
            D::store(word(m), D::load(word(m), relaxed) + 1, relaxed);
          } else {
            seen += std::to_string(D::load(word(m), relaxed));
          }
        }
      },
      order);
  EXPECT_FALSE(ended);
  m.memory().leave();
  return seen;
}

TEST(StoreBuffers, drain_by_decisions_that_can_be_replayed) {
  machine m(4096, 2, with_buffers, small());
  bool companion_chosen = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string first = seen_by_another(m, *verify::random_strategy(), seed);
    const verify::schedule decisions = m.decisions();
    for (const unsigned choice : decisions) companion_chosen |= choice == 2;
    EXPECT_EQ(first, seen_by_another(m, *verify::replay_strategy(decisions), 99));
  }
  EXPECT_TRUE(companion_chosen);
}

/// Runs the threads in the order of their numbers as far as they go, and drains as late as it can.
class lazy final : public verify::strategy {
 public:
  void begin(verify::random, unsigned, std::uint32_t) override {}
  unsigned choose(std::span<const unsigned> runnable, unsigned) override {
    return *std::min_element(runnable.begin(), runnable.end());
  }
};

TEST(StoreBuffers, hide_stores_from_others_but_not_from_plain_reads_of_their_own_thread) {
  machine m(4096, 2, with_buffers, small());
  std::vector<std::uint64_t> seen;
  lazy order;
  const fault ended = m.run_threads(
      2,
      [&](unsigned t) {
        if (t == 0) D::store(word(m), 1, relaxed);
        if (t == 0) D::store(word(m), 2, relaxed);
        seen.push_back(word(m).load(relaxed));  // around the domain, as a reference to a field does
        D::schedule_point();
      },
      order);
  EXPECT_FALSE(ended);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{2, 0}));
  EXPECT_EQ(word(m).load(relaxed), 2U) << "everything drains at the end";
}

TEST(StoreBuffers, drain_their_oldest_store_when_they_are_full) {
  machine m(4096, 2, with_buffers, small());
  constexpr std::uint64_t stores = verify::store_buffers::capacity + 2;
  std::uint64_t seen = 0;
  lazy order;
  const fault ended = m.run_threads(
      2,
      [&](unsigned t) {
        if (t == 1) seen = D::load(word(m), relaxed);
        for (std::uint64_t i = 1; t == 0 && i <= stores; ++i) D::store(word(m), i, relaxed);
      },
      order);
  EXPECT_FALSE(ended);
  EXPECT_EQ(seen, 2U);
}

TEST(StoreBuffers, are_lost_in_a_crash_and_return_with_what_it_interrupted) {
  machine m(4096, 2, with_buffers, small());
  lazy order;
  const fault ended = m.run_threads(
      1,
      [&](unsigned) {
        D::store(word(m), 1, relaxed);
        EXPECT_EQ(m.memory().foreign_store_anywhere(), nullptr)
            << "a buffered store does not bypass the domain";
        m.memory().enter({});
        const fault inner = m.run_alone([&] {
          EXPECT_EQ(D::load(word(m), relaxed), 0U);
          D::store(word(m, 1), 7, relaxed);
        });
        EXPECT_FALSE(inner);
        EXPECT_EQ(m.memory().foreign_store_anywhere(), nullptr);
        m.memory().leave();
        EXPECT_EQ(word(m).load(relaxed), 1U);
        EXPECT_EQ(word(m, 1).load(relaxed), 0U);
        EXPECT_TRUE(m.memory().dirty_lines().empty()) << "no other thread has seen the store";
      },
      order);
  EXPECT_FALSE(ended) << *ended;
}

TEST(StoreBuffers, hold_stores_to_volatile_memory_as_well) {
  machine m(4096, 2, with_buffers, small());
  std::atomic<std::uint64_t> outside{0};
  std::vector<std::uint64_t> seen;
  lazy order;
  const fault ended = m.run_threads(
      2,
      [&](unsigned t) {
        if (t == 0) D::store(outside, 1, relaxed);
        seen.push_back(D::load(outside, relaxed));
      },
      order);
  EXPECT_FALSE(ended);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 0}));
  EXPECT_EQ(outside.load(), 1U);
}

TEST(StoreBuffers, of_a_thread_that_met_a_mishap_are_dropped) {
  machine m(4096, 2, with_buffers, small());
  const fault ended = m.run_threads(
      1,
      [&](unsigned) {
        D::store(word(m), 1, relaxed);
        throw std::runtime_error("no luck");
      },
      *verify::random_strategy());
  EXPECT_TRUE(ended);
  EXPECT_EQ(word(m).load(relaxed), 0U);
}

TEST(StoreBuffers, come_with_persistent_caches) {
  EXPECT_TRUE(machine(4096, 1, {.cache_persistent = true}, small()).memory().model().store_buffers);
}

TEST(Schedule, survives_a_trip_through_text) {
  const verify::schedule choices{0, 0, 0, 1, 1, 0, 2};
  EXPECT_EQ(verify::to_text(choices), "0*3 1*2 0 2");
  EXPECT_EQ(verify::schedule_from_text("0*3 1*2 0 2"), choices);
  EXPECT_TRUE(verify::schedule_from_text("").empty());
  EXPECT_ANY_THROW(static_cast<void>(verify::schedule_from_text("0*x")));
}

TEST(Model, survives_a_trip_through_text) {
  for (const std::string machine :
       {"portable", "x86", "portable+store_buffers", "x86+store_buffers", "cache_persistent"}) {
    for (const std::string& name : {machine, machine + "+weak_same_line"}) {
      EXPECT_EQ(verify::to_text(verify::memory_model_from_text(name)), name);
    }
  }
  EXPECT_ANY_THROW(static_cast<void>(verify::memory_model_from_text("vax")));
}

/// Found as a violation that was none: the words that say how far a table has grown changed under
/// the threads that a kill had left suspended.
TEST(Machine, keeps_kills_away_from_the_volatile_words_of_suspended_threads) {
  machine m(4096, 2, {.store_buffers = true}, small());
  verify::memory& memory = m.memory();
  const std::uint64_t one = 1;
  std::uint64_t outside = 0;
  const auto store_to = [&](void* where) {
    memory.buffer_store(0, where, &one, sizeof one, verify::store_kind::plain, {}, false);
  };
  memory.look_as(1);
  store_to(&word(m));
  store_to(&outside);
  memory.enter_killed();
  EXPECT_EQ(word(m).load(), 1U) << "what the dead had stored in the pool is there";
  EXPECT_EQ(outside, 0U);
  memory.leave();
  EXPECT_EQ(word(m).load(), 0U);
  EXPECT_EQ(outside, 0U) << "thread 1 sees a store whose predecessor is still in thread 0's buffer";
  memory.look_as(0);
  EXPECT_EQ(word(m).load() + outside, 2U) << "thread 0 sees its own stores";
  memory.drain_one(0);
  memory.drain_one(0);
  memory.look_as(1);
  EXPECT_EQ(word(m).load() + outside, 2U);
}

/// Found as a violation that was none: a record was durable, and the slot that its thread had
/// stored in an index that kills leave was dropped with the thread's buffer.
TEST(Machine, completes_stores_to_memory_that_kills_leave) {
  machine m(4096, 2, {.store_buffers = true}, small());
  verify::memory& memory = m.memory();
  const std::uint64_t one = 1;
  std::array<std::uint64_t, 2> outside{};
  memory.look_as(1);
  for (std::uint64_t& each : outside) {
    memory.buffer_store(0, &each, &one, sizeof one, verify::store_kind::plain, {}, false);
  }
  memory.enter_killed(std::as_bytes(std::span(outside).first(1)));
  EXPECT_EQ(outside[0], 1U);
  EXPECT_EQ(outside[1], 0U);
  memory.leave();
}

}  // namespace
}  // namespace outlast::test
