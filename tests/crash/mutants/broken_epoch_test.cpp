// Goal: the verifier detects each omitted step of the protocol of epochs. Method: the real headers
// with one step disabled (mutate_epoch.cmake), and with none. The seeds are fixed.
#include <broken_epoch/baselines/one_lock_queue.hpp>
#include <outlast/verify/explorer/buffered_subject.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <outlast/verify/machine/simulated.hpp>
#include <tests/catalogue/items_as_map.hpp>

#include <gtest/gtest.h>
#include <broken_epoch/bounded_cache.hpp>
#include <broken_epoch/hash_map.hpp>
#include <broken_epoch/lockfree_list.hpp>
#include <broken_epoch/lockfree_queue.hpp>
#include <broken_epoch/queue.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace outlast::test {
namespace {

using D = domain::simulated;
using map = broken_epoch::hash_map<std::uint64_t, std::uint64_t, D>;
using items =
    verify::detail::items_as_map<broken_epoch::basic_bounded_cache<broken_epoch::buffered<D>>>;
using string_map = broken_epoch::hash_map<std::uint64_t, std::string, D>;
using number_queue = broken_epoch::queue<std::uint64_t, D>;
using one_lock_queue = broken_epoch::one_lock_queue<std::uint64_t, D>;
using lockfree_list =
    broken_epoch::lockfree_list<std::uint64_t, std::uint64_t, D, std::less<>, verify::eager_epochs>;
using lockfree_queue = broken_epoch::lockfree_queue<std::uint64_t, D, verify::eager_epochs>;

constexpr verify::memory_model portable{};
constexpr verify::memory_model torn_lines{.weak_same_line = true};
constexpr verify::memory_model buffered_stores{.rmw_fences = true, .store_buffers = true};

/// What is explored.
enum class scenarios {
  all,      ///< a map, whatever may be done to it
  updates,  ///< one key of it
  syncs,    ///< one key of it, put by few operations beside syncs
  strings,  ///< long values
  cached,   ///< items of a cache, and erasures of all
  queue,
  one_lock,  ///< a queue that has one
  list,      ///< lock-free, one key
  puts,      ///< the same, put again and again
  lookups,   ///< the same, erased while others look
  lockfree
};

template <class Structure, class... Options>
verify::structure_parts<Structure> parts_of(const Options&... options) {
  verify::structure_parts<Structure> how;
  how.make = [options...](auto& pool) {
    auto made = std::make_unique<Structure>(pool, "subject", options...);
    made->pool_clock().configure({.epoch_length = {}, .buffer = 2, .stream_from_bytes = 64});
    return made;
  };
  how.blocks = [](Structure&) { return std::size_t{1}; };
  return how;
}

std::unique_ptr<verify::subject> make_subject(scenarios which) {
  using enum verify::map_operation;
  const broken_epoch::map_options small{.buckets = 2, .load = 4};
  switch (which) {
    case scenarios::all:
      return std::make_unique<verify::buffered_map_subject<map>>("map", parts_of<map>(small));
    case scenarios::updates:
      return std::make_unique<verify::buffered_map_subject<map>>(
          "map", parts_of<map>(small), std::vector{put, put, update, erase, get});
    case scenarios::syncs:
      return std::make_unique<verify::buffered_map_subject<map>>("map", parts_of<map>(small),
                                                                 std::vector{put});
    case scenarios::strings:
      return std::make_unique<verify::buffered_map_subject<string_map>>(
          "strings", parts_of<string_map>(small));
    case scenarios::cached:
      return std::make_unique<verify::buffered_map_subject<items>>(
          "items", parts_of<items>(broken_epoch::bounded_cache_options{.buckets = 2}),
          std::vector{put, put, erase, get, clear, clear});
    case scenarios::queue:
      return std::make_unique<verify::buffered_sequence_subject<number_queue>>(
          "queue", verify::sequence_oracle::discipline::queue, parts_of<number_queue>());
    case scenarios::one_lock:
      return std::make_unique<verify::buffered_sequence_subject<one_lock_queue>>(
          "queue", verify::sequence_oracle::discipline::queue, parts_of<one_lock_queue>());
    case scenarios::list:
      return std::make_unique<verify::buffered_map_subject<lockfree_list>>(
          "list", parts_of<lockfree_list>(),
          std::vector{insert, put, update, erase, erase, get, contains});
    case scenarios::puts:
      return std::make_unique<verify::buffered_map_subject<lockfree_list>>(
          "list", parts_of<lockfree_list>(), std::vector{put});
    case scenarios::lookups:
      return std::make_unique<verify::buffered_map_subject<lockfree_list>>(
          "list", parts_of<lockfree_list>(), std::vector{insert, erase, contains});
    case scenarios::lockfree: break;
  }
  return std::make_unique<verify::buffered_sequence_subject<lockfree_queue>>(
      "queue", verify::sequence_oracle::discipline::queue, parts_of<lockfree_queue>());
}

verify::report explore(int defect, scenarios which, const verify::memory_model& model,
                       std::uint64_t executions,
                       verify::strategy_kind strategy = verify::strategy_kind::pct,
                       std::uint64_t seed = 1) {
  broken_epoch::defect = defect;
  verify::options options;
  options.seed = seed;
  options.seconds = 60;
  options.max_executions = executions;
  options.model = model;
  options.strategy = strategy;
  options.minimise = defect == 0;
  using enum scenarios;
  if (which == updates || which == list) {
    options.within = {.threads = 2, .operations = 4, .keys = 1, .prefill = 2};
  } else if (which == syncs) {
    options.executions_per_scenario = executions;  // of one scenario: two syncs beside put, sync
    options.within = {.threads = 2, .operations = 2, .keys = 1, .prefill = 1};
  } else if (which == puts || which == lookups) {
    options.within = {.threads = 2, .operations = 3, .keys = 1, .prefill = 2};
  }
  const auto tested = make_subject(which);
  verify::report done = verify::explorer(*tested, options).run();
  broken_epoch::defect = 0;
  return done;
}

TEST(unbroken_epochs, are_found_right) {
  using enum scenarios;
  for (const scenarios which : {all, updates, strings, cached, queue, one_lock, list, lockfree}) {
    const verify::report done = explore(0, which, portable, 60);
    EXPECT_FALSE(done.found) << to_text(*done.found);
  }
}

struct mutant {
  int defect;
  scenarios which;
  verify::memory_model model;
  const char* says;
  verify::strategy_kind strategy = verify::strategy_kind::pct;
  std::uint64_t seed = 1;  ///< of a scenario that finds it, where the first one that does is late
};

class epoch_mutant : public ::testing::TestWithParam<mutant> {};

TEST_P(epoch_mutant, is_found) {
  const mutant& tested = GetParam();
  const verify::report done =
      explore(tested.defect, tested.which, tested.model, 20'000, tested.strategy, tested.seed);
  EXPECT_TRUE(done.found) << tested.says << ": " << to_text(done);
}

std::string number_of(const ::testing::TestParamInfo<mutant>& of) {
  return "number_" + std::to_string(of.param.defect);
}

INSTANTIATE_TEST_SUITE_P(
    all, epoch_mutant,
    ::testing::Values(
        mutant{1, scenarios::updates, portable, "the mark goes before the label"},
        mutant{2, scenarios::all, torn_lines, "a torn copy of the time stays"},
        mutant{3, scenarios::all, portable, "recovery keeps an epoch more"},
        mutant{4, scenarios::all, portable, "what the last recovery kept is forgotten"},
        mutant{5, scenarios::all, portable, "a torn copy of the time is believed in"},
        mutant{6, scenarios::all, portable, "the new time overwrites the newest copy"},
        mutant{7, scenarios::all, portable, "the clock is durable before what it promises"},
        mutant{8, scenarios::all, portable, "a tick waits for nobody"},
        mutant{9, scenarios::all, portable, "sync returns an epoch early"},
        mutant{10, scenarios::updates, portable, "blocks are used again too early"},
        mutant{11, scenarios::all, portable, "an announcement is not checked"},
        mutant{12, scenarios::all, portable, "a full buffer forgets"},
        mutant{13, scenarios::all, portable, "a full buffer does not wait"},
        mutant{14, scenarios::updates, buffered_stores, "an operation ends before its stores"},
        mutant{15, scenarios::all, portable, "the tick forgets who is idle"},
        mutant{16, scenarios::all, portable, "a close leaves the last epochs behind"},
        mutant{17, scenarios::updates, portable, "what is young gets no mark"},
        mutant{18, scenarios::updates, portable, "an older payload is changed in place"},
        mutant{19, scenarios::strings, portable, "streamed bytes are published without a fence"},
        mutant{20, scenarios::updates, portable, "an operation begins before its lock is taken"},
        mutant{21, scenarios::updates, portable, "a mark is not written back"},
        mutant{22, scenarios::updates, portable, "a change in place is not written back"},
        mutant{23, scenarios::updates, portable, "a block is used again as it is"},
        mutant{24, scenarios::all, portable, "labels beyond the boundary stay"},
        mutant{25, scenarios::updates, portable, "marks beyond the boundary stay"},
        mutant{26, scenarios::updates, portable, "what recovery cuts off is not written back"},
        mutant{27, scenarios::updates, portable, "marks are ignored"},
        mutant{28, scenarios::all, portable, "the clock does not know that a root is in use"},
        mutant{29, scenarios::lookups, portable, "the clock is read before the intent is there",
               verify::strategy_kind::pct, 1011},
        mutant{30, scenarios::puts, portable, "a tick looks at no intent"},
        mutant{31, scenarios::puts, portable, "a tick labels in the epoch that it ends"},
        mutant{32, scenarios::list, portable, "what got a label is not written back"},
        mutant{33, scenarios::puts, portable, "the mark of what is replaced is not written back"},
        mutant{34, scenarios::list, portable, "the mark of what is deleted is not written back"},
        mutant{35, scenarios::puts, portable, "an intent goes away before what was done is noted"},
        mutant{36, scenarios::puts, portable, "a tick forgets what a label retires"},
        mutant{37, scenarios::puts, portable, "logs are written back before intents are looked at",
               verify::strategy_kind::random, 51},
        mutant{38, scenarios::list, portable, "nodes are deleted before they have a label",
               verify::strategy_kind::pct, 31},
        mutant{39, scenarios::lookups, portable, "who answers \"not there\" helps nobody",
               verify::strategy_kind::pct, 1528},
        mutant{40, scenarios::lockfree, portable, "a node gets a label after the next one"},
        mutant{41, scenarios::lockfree, portable, "a value is taken before the one in front of it",
               verify::strategy_kind::pct, 43},
        mutant{42, scenarios::lockfree, portable, "a value is taken that is not there yet"},
        mutant{43, scenarios::lockfree, portable, "who answers \"empty\" helps nobody",
               verify::strategy_kind::pct, 58},
        mutant{44, scenarios::list, portable, "nodes are unlinked before they have a mark"},
        mutant{45, scenarios::puts, portable, "blocks of nodes are used again too early"},
        mutant{46, scenarios::all, portable, "a sync writes back one of its two epochs"},
        mutant{47, scenarios::puts, portable, "a sync moves the clock before operations ended"},
        mutant{48, scenarios::all, portable, "a sync waits for operations of one epoch"},
        mutant{49, scenarios::queue, buffered_stores, "an announcement is not seen yet"},
        mutant{50, scenarios::updates, portable, "lines are written back once and for all"},
        mutant{51, scenarios::updates, portable, "what is older is free at once"},
        mutant{52, scenarios::syncs, portable, "a sync asks without the lock",
               verify::strategy_kind::random, 337},
        mutant{53, scenarios::one_lock, portable, "who pops begins before the lock",
               verify::strategy_kind::pct, 75},
        mutant{54, scenarios::all, portable, "an epoch is called durable that is not complete"},
        mutant{55, scenarios::all, portable, "an epoch is called durable before the clock is"},
        mutant{57, scenarios::cached, portable, "changes go on beside an erasure of all"},
        mutant{58, scenarios::cached, portable, "recovery forgets an erasure of all"},
        mutant{59, scenarios::cached, portable, "an item is of an erased generation"}),
    number_of);

}  // namespace
}  // namespace outlast::test
