// Goal: the checker of buffered structures accepts the state after the guaranteed prefix of the
// history and nothing else, and it can fail. Method: hand-written histories, of which a checker
// with a rule disabled must accept each bad one, and thousands of random histories, whose orders
// are enumerated without the checker's search.
#include "random_history.hpp"

#include <outlast/verify/checkers/buffered_oracle.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace outlast::test {
namespace {

using verify::abstract_state;
using verify::buffered_oracle;
using verify::call;
using verify::checker_rules;
using verify::epoch_operation;
using verify::event;
using verify::history;
using verify::map_operation;
using verify::map_oracle;
using verify::outcome;

std::shared_ptr<const map_oracle> map() {
  using enum map_operation;
  static const auto meaning =
      std::make_shared<const map_oracle>(std::vector<map_operation>{put, put, erase, get}, true);
  return meaning;
}

call put(std::uint64_t key, std::uint64_t value) {
  return {static_cast<std::uint8_t>(map_operation::put), key, value};
}
call get(std::uint64_t key) { return {static_cast<std::uint8_t>(map_operation::get), key, 0}; }
call sync() { return {static_cast<std::uint8_t>(epoch_operation::sync), 0, 0}; }

outcome added_in(std::uint64_t epoch) { return {true, 0, epoch}; }
outcome replaced_in(std::uint64_t epoch) { return {false, 0, epoch}; }

/// Operations of one thread, one after the other.
history serial(const std::vector<std::pair<call, outcome>>& steps) {
  history h;
  for (const auto& [what, result] : steps) h.respond(h.invoke(0, what), result);
  return h;
}

bool after_crash(const history& h, const abstract_state& found, checker_rules rules = {},
                 const abstract_state& initial = {}) {
  return buffered_oracle(map(), 3, rules).explains_after_crash(initial, h, found);
}

bool without_crash(const history& h, const abstract_state& found, checker_rules rules = {}) {
  return buffered_oracle(map(), 3, rules).explains({}, h, found);
}

TEST(BufferedOracle, demands_the_epochs_that_the_image_names) {
  const history h =
      serial({{put(1, 10), added_in(1)}, {put(2, 20), added_in(2)}, {put(1, 11), replaced_in(3)}});
  EXPECT_TRUE(after_crash(h, {0}));
  EXPECT_TRUE(after_crash(h, {1, 1, 10}));
  EXPECT_TRUE(after_crash(h, {2, 1, 10, 2, 20}));
  EXPECT_TRUE(after_crash(h, {3, 1, 11, 2, 20}));
  EXPECT_TRUE(after_crash(h, {9, 1, 11, 2, 20}));
}

TEST(BufferedOracle, refuses_a_state_of_another_epoch) {
  const history h = serial({{put(1, 10), added_in(1)}, {put(2, 20), added_in(2)}});
  constexpr checker_rules any_prefix{.keeps_boundary = false};
  for (const abstract_state& wrong :
       {abstract_state{2, 1, 10}, abstract_state{1, 1, 10, 2, 20}, abstract_state{1}}) {
    EXPECT_FALSE(after_crash(h, wrong));
    EXPECT_TRUE(after_crash(h, wrong, any_prefix)) << "the fault must be able to show";
  }
}

TEST(BufferedOracle, refuses_a_state_with_a_hole) {
  const history h = serial({{put(1, 10), added_in(1)}, {put(2, 20), added_in(1)}});
  EXPECT_FALSE(after_crash(h, {1, 2, 20}));
  EXPECT_FALSE(after_crash(h, {1, 2, 20}, {.keeps_boundary = false}));
  EXPECT_TRUE(after_crash(h, {1, 2, 20}, {.keeps_prefix = false}))
      << "the fault must be able to show";
}

TEST(BufferedOracle, demands_what_was_synced) {
  const history h = serial({{put(1, 10), added_in(1)}, {sync(), {true}}, {get(1), {true, 10}}});
  EXPECT_TRUE(after_crash(h, {1, 1, 10}));
  EXPECT_FALSE(after_crash(h, {0})) << "a consistent prefix, but older than promised";
  EXPECT_TRUE(after_crash(h, {0}, {.keeps_synced = false})) << "the fault must be able to show";
}

TEST(BufferedOracle, demands_the_epochs_that_were_called_durable) {
  const history h = serial({{put(1, 10), added_in(4)}, {get(1), {true, 10, 0, 4}}});
  EXPECT_TRUE(after_crash(h, {4, 1, 10}));
  EXPECT_TRUE(after_crash(h, {5, 1, 10}));
  EXPECT_FALSE(after_crash(h, {3})) << "a consistent prefix, but older than claimed";
  EXPECT_TRUE(after_crash(h, {3}, {.keeps_claims = false})) << "the fault must be able to show";
}

call erase(std::uint64_t key) { return {static_cast<std::uint8_t>(map_operation::erase), key, 0}; }
/// Returns the result of a read, with its token and the token that is reached.
outcome seen(std::optional<std::uint64_t> value, std::uint64_t token, std::uint64_t reached = 0) {
  return {value.has_value(), value.value_or(0), 0, 0, token, reached};
}

TEST(BufferedOracle, demands_reads_whose_tokens_the_image_names) {
  const auto read_with = [](std::uint64_t token) {
    return serial({{put(1, 10), added_in(1)}, {erase(1), added_in(2)}, {get(1), seen({}, token)}});
  };
  EXPECT_TRUE(after_crash(read_with(2), {2}));
  EXPECT_TRUE(after_crash(read_with(2), {1, 1, 10})) << "the token is not reached";
  EXPECT_FALSE(after_crash(read_with(1), {1, 1, 10})) << "the erasure is lost that was seen";
  EXPECT_TRUE(after_crash(read_with(1), {1, 1, 10}, {.keeps_tokens = false}))
      << "the fault must be able to show";
}

TEST(BufferedOracle, demands_changes_whose_tokens_the_image_names) {
  const history h = serial({{put(1, 10), {true, 0, 2, 0, 1}}});
  EXPECT_TRUE(after_crash(h, {2, 1, 10}));
  EXPECT_FALSE(after_crash(h, {1})) << "the token is older than the change";
  EXPECT_TRUE(after_crash(h, {1}, {.keeps_tokens = false})) << "the fault must be able to show";
}

TEST(BufferedOracle, permits_a_read_after_a_change_that_was_lost) {
  const history h =
      serial({{put(1, 10), added_in(1)}, {put(2, 20), added_in(2)}, {get(1), seen(10, 1)}});
  EXPECT_TRUE(after_crash(h, {1, 1, 10}));
}

TEST(BufferedOracle, places_reads_in_their_order) {
  const auto reads = [](std::uint64_t first, std::uint64_t second) {
    history h = serial({{put(1, 10), added_in(1)}});
    const auto change = h.invoke(1, put(1, 20));
    h.respond(h.invoke(0, get(1)), seen(first, 1));
    h.respond(h.invoke(0, get(1)), seen(second, 1));
    h.respond(change, replaced_in(1));
    return h;
  };
  EXPECT_TRUE(after_crash(reads(10, 20), {1, 1, 20}));
  EXPECT_FALSE(after_crash(reads(20, 10), {1, 1, 20}));
}

TEST(BufferedOracle, compares_tokens_of_their_own_order_with_those_that_were_reached) {
  const buffered_oracle own(map(), 3, {}, {}, verify::token_kind::own);
  const auto read_of_20 = [](std::uint64_t token) {
    return serial(
        {{put(1, 10), added_in(1)}, {put(1, 20), replaced_in(2)}, {get(1), seen(20, token, 7)}});
  };
  EXPECT_TRUE(own.explains_after_crash({}, read_of_20(8), {1, 1, 10})) << "it is not reached";
  EXPECT_FALSE(own.explains_after_crash({}, read_of_20(7), {1, 1, 10}));
  EXPECT_TRUE(own.explains_after_crash({}, read_of_20(7), {2, 1, 20}));
}

TEST(BufferedOracle, demands_nothing_for_a_sync_that_has_not_returned) {
  history h = serial({{put(1, 10), added_in(1)}});
  h.invoke(0, sync());
  EXPECT_TRUE(after_crash(h, {0}));
  EXPECT_TRUE(after_crash(h, {1, 1, 10}));
}

TEST(BufferedOracle, demands_nothing_for_what_was_under_way_when_a_sync_began) {
  history h;
  const auto late = h.invoke(0, put(1, 10));
  const auto synced = h.invoke(1, sync());
  h.respond(late, added_in(1));
  h.respond(synced, {true});
  EXPECT_TRUE(after_crash(h, {0}));
}

TEST(BufferedOracle, demands_the_epochs_that_must_be_durable_for_later_ones_to_exist) {
  const history h = serial({{put(1, 10), added_in(1)}, {put(2, 20), added_in(4)}});
  EXPECT_TRUE(after_crash(h, {1, 1, 10}));
  EXPECT_FALSE(after_crash(h, {0}));
  EXPECT_TRUE(after_crash(h, {0}, {.keeps_lag = false})) << "the fault must be able to show";
}

TEST(BufferedOracle, refuses_a_clock_that_runs_backwards) {
  EXPECT_TRUE(after_crash({}, {5, 1, 10}, {}, {5, 1, 10}));
  EXPECT_TRUE(after_crash({}, {6, 1, 10}, {}, {5, 1, 10}));
  EXPECT_FALSE(after_crash({}, {4, 1, 10}, {}, {5, 1, 10}));
  EXPECT_TRUE(after_crash({}, {4, 1, 10}, {.keeps_lag = false}, {5, 1, 10}))
      << "the fault must be able to show";
}

TEST(BufferedOracle, demands_what_was_there_at_the_beginning) {
  EXPECT_FALSE(after_crash({}, {5}, {}, {5, 1, 10}));
  EXPECT_FALSE(after_crash({}, {}, {}, {})) << "a state without an epoch";
}

TEST(BufferedOracle, lets_pending_operations_take_effect_or_not) {
  history h;
  h.invoke(0, put(1, 10));
  EXPECT_TRUE(after_crash(h, {4}));
  EXPECT_TRUE(after_crash(h, {4, 1, 10}));
  EXPECT_FALSE(after_crash(h, {4, 1, 11}));
}

TEST(BufferedOracle, demands_what_a_survivor_proves) {
  history h;
  h.invoke(0, put(1, 10));
  h.respond(h.invoke(1, get(1)), {true, 10});
  h.respond(h.invoke(1, put(2, 20)), added_in(1));
  EXPECT_TRUE(after_crash(h, {1, 1, 10, 2, 20}));
  EXPECT_FALSE(after_crash(h, {1, 2, 20})) << "the read came before, and had seen the other";
}

TEST(BufferedOracle, keeps_real_time) {
  const history h = serial({{put(1, 10), added_in(1)}, {get(1), {false}}});
  EXPECT_FALSE(after_crash(h, {1, 1, 10}));
  EXPECT_TRUE(after_crash(h, {1, 1, 10}, {.keeps_real_time = false}))
      << "the fault must be able to show";
}

TEST(BufferedOracle, explains_the_answers_that_a_crash_took_back_too) {
  const history h = serial({{put(1, 10), added_in(3)}, {get(1), {true, 11}}});
  EXPECT_FALSE(after_crash(h, {0}));
}

TEST(BufferedOracle, demands_everything_where_there_was_no_crash) {
  const history h = serial({{put(1, 10), added_in(1)}, {put(2, 20), added_in(2)}});
  EXPECT_TRUE(without_crash(h, {0, 1, 10, 2, 20}));
  EXPECT_FALSE(without_crash(h, {1, 1, 10}));
  EXPECT_TRUE(without_crash(h, {1, 1, 10}, {.keeps_completed = false}))
      << "the fault must be able to show";
}

TEST(BufferedOracle, refuses_epochs_that_contradict_real_time) {
  const history h = serial({{put(1, 10), added_in(2)}, {put(2, 20), added_in(1)}});
  EXPECT_FALSE(without_crash(h, {0, 1, 10, 2, 20}));
  EXPECT_TRUE(without_crash(h, {0, 1, 10, 2, 20}, {.keeps_real_time = false}))
      << "the fault must be able to show";
}

TEST(BufferedOracle, demands_a_prefix_with_the_synced_of_subjects_without_stamps) {
  const history h = serial({{put(1, 10), {true}}, {sync(), {true}}, {put(2, 20), {true}}});
  EXPECT_TRUE(after_crash(h, {0, 1, 10}));
  EXPECT_TRUE(after_crash(h, {0, 1, 10, 2, 20}));
  EXPECT_FALSE(after_crash(h, {0}));
  EXPECT_FALSE(after_crash(h, {0, 2, 20}));
}

TEST(BufferedOracle, checks_any_specification) {
  using verify::sequence_operation;
  using verify::sequence_oracle;
  const auto queue = std::make_shared<sequence_oracle>(sequence_oracle::discipline::queue);
  const buffered_oracle checker(queue);
  history h;
  for (const std::uint64_t value : {7U, 8U, 9U}) {
    const call add{static_cast<std::uint8_t>(sequence_operation::add), 0, value};
    h.respond(h.invoke(0, add), added_in(value - 6));
  }
  const call take{static_cast<std::uint8_t>(sequence_operation::take), 0, 0};
  h.respond(h.invoke(0, take), {true, 7, 3});
  EXPECT_TRUE(checker.explains_after_crash({}, h, {2, 7, 8}));
  EXPECT_TRUE(checker.explains_after_crash({}, h, {3, 8, 9}));
  EXPECT_FALSE(checker.explains_after_crash({}, h, {2, 8}));
  EXPECT_FALSE(checker.explains_after_crash({}, h, {3, 7, 8, 9}));
}

TEST(BufferedOracle, describes_epochs_and_their_operations) {
  const buffered_oracle checker(map());
  EXPECT_EQ(checker.describe(sync()), "sync()");
  EXPECT_EQ(checker.describe(put(1, 10)), "put(1, 10)");
  EXPECT_EQ(checker.describe(abstract_state{4, 1, 10}), "{1: 10} up to epoch 4");
}

/// All orders of a history, one after the other: the definition, spelt out.
class enumeration {
 public:
  enumeration(const history& h, const abstract_state& initial, std::uint64_t boundary)
      : events_(h.events()), initial_(initial), boundary_(boundary) {}

  bool explains(const abstract_state& found) const {
    std::vector<std::size_t> order(events_.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      for (std::size_t length = 0; length <= order.size(); ++length) {
        if (fits(std::span(order).first(length), found)) return true;
      }
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

 private:
  /// Whether the events in `order`, the others left out, are an order with a prefix as promised.
  bool fits(std::span<const std::size_t> order, const abstract_state& found) const {
    if (!contains_all_that_responded(order) || !keeps_times_and_stamps(order)) return false;
    abstract_state state = initial_;
    bool prefix_found = false;
    for (std::size_t length = 0;; ++length) {
      prefix_found = prefix_found || (state == found && is_promised(order, length));
      if (length == order.size()) return prefix_found;
      const auto after = map()->step(state, events_[order[length]]);
      if (!after) return false;
      state = *after;
    }
  }

  bool contains_all_that_responded(std::span<const std::size_t> order) const {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (!events_[i].pending() && std::find(order.begin(), order.end(), i) == order.end()) {
        return false;
      }
    }
    return true;
  }

  bool keeps_times_and_stamps(std::span<const std::size_t> order) const {
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t k = i + 1; k < order.size(); ++k) {
        const event& earlier = events_[order[i]];
        const event& later = events_[order[k]];
        if (later.responded < earlier.invoked) return false;
        if (later.result.stamp != 0 && later.result.stamp < earlier.result.stamp) return false;
      }
    }
    return true;
  }

  bool is_promised(std::span<const std::size_t> order, std::size_t length) const {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint64_t stamp = events_[order[i]].result.stamp;
      if (stamp != 0 && (stamp <= boundary_) != (i < length)) return false;
    }
    return true;
  }

  const std::vector<event>& events_;
  const abstract_state& initial_;
  std::uint64_t boundary_;
};

abstract_state behind(std::uint64_t epoch, const abstract_state& content) {
  abstract_state state{epoch};
  state.insert(state.end(), content.begin(), content.end());
  return state;
}

TEST(BufferedOracle, agrees_with_the_enumeration_of_all_orders) {
  verify::random source(2021);
  const buffered_oracle checker(map(), 1'000);
  unsigned accepted = 0;
  unsigned refused = 0;
  for (unsigned round = 0; round < 20'000; ++round) {
    const abstract_state initial = source.one_in(2) ? abstract_state{} : abstract_state{1, 50};
    const history_shape shape{.threads = 2 + static_cast<unsigned>(source.below(2)),
                              .operations = 5,
                              .lie_one_in = source.one_in(2) ? 0U : 8U,
                              .stamped = true};
    const random_run run = history_player(*map(), initial, shape, source).play();
    const std::uint64_t epoch = source.below(run.epoch_ends.size());
    const std::uint64_t content = source.one_in(2) ? epoch : source.below(run.epoch_ends.size());
    const abstract_state& found = run.epoch_ends[content];
    const bool right = enumeration(run.seen, initial, epoch).explains(found);
    ASSERT_EQ(checker.explains_after_crash(behind(0, initial), run.seen, behind(epoch, found)),
              right)
        << "round " << round;
    ++(right ? accepted : refused);
  }
  EXPECT_GT(accepted, 5000U);
  EXPECT_GT(refused, 5000U);
}

}  // namespace
}  // namespace outlast::test
