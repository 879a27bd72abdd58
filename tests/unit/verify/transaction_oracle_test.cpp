// Goal: the checker of transactions accepts the state after a prefix of them that contains every
// update which had responded, and nothing else, and it can fail. Method: hand-written histories. A
// checker with a rule disabled must accept each bad one.
#include <outlast/verify/checkers/prefix_search.hpp>
#include <outlast/verify/checkers/transaction_oracle.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace outlast::test {
namespace {

using verify::abstract_state;
using verify::accounts_oracle;
using verify::checker_rules;
using verify::history;
using verify::reader_promise;
using verify::transaction_oracle;

constexpr auto both = accounts_oracle::both;

verify::call deposit(std::uint64_t account, std::uint64_t amount) {
  return accounts_oracle::deposit(account, amount);
}
verify::call move(std::uint64_t from, std::uint64_t to, std::uint64_t amount) {
  return accounts_oracle::move(from, to, amount);
}
verify::call read(std::uint64_t first, std::uint64_t second) {
  return accounts_oracle::read(first, second);
}

bool after_crash(const history& h, const abstract_state& found, const abstract_state& initial = {},
                 checker_rules rules = {}, reader_promise readers = reader_promise::durable) {
  return transaction_oracle(std::make_shared<accounts_oracle>(), readers, rules)
      .explains_after_crash(initial, h, found);
}

bool without_crash(const history& h, const abstract_state& found, const abstract_state& initial) {
  return transaction_oracle(std::make_shared<accounts_oracle>()).explains(initial, h, found);
}

TEST(TransactionOracle, demands_all_or_nothing) {
  history h;
  h.invoke(0, move(1, 2, 30));
  EXPECT_TRUE(after_crash(h, {1, 100}, {1, 100}));
  EXPECT_TRUE(after_crash(h, {1, 70, 2, 30}, {1, 100}));
  EXPECT_FALSE(after_crash(h, {1, 70}, {1, 100}));
  EXPECT_FALSE(after_crash(h, {1, 100, 2, 30}, {1, 100}));
}

TEST(TransactionOracle, demands_updates_that_responded) {
  history h;
  h.respond(h.invoke(0, deposit(1, 100)), {true});
  EXPECT_TRUE(after_crash(h, {1, 100}));
  EXPECT_FALSE(after_crash(h, {}));
  EXPECT_TRUE(after_crash(h, {}, {}, {.keeps_completed = false}))
      << "the fault must be able to show";
}

TEST(TransactionOracle, refuses_a_state_with_a_hole) {
  history h;
  h.invoke(0, deposit(1, 5));
  h.respond(h.invoke(1, read(1, 2)), both(5, 0));
  h.respond(h.invoke(1, deposit(2, 7)), {true});
  EXPECT_TRUE(after_crash(h, {1, 5, 2, 7}));
  EXPECT_FALSE(after_crash(h, {2, 7}));
  const auto lenient = reader_promise::may_see_the_lost;
  EXPECT_FALSE(after_crash(h, {2, 7}, {}, {}, lenient)) << "what was seen came before";
  EXPECT_TRUE(after_crash(h, {2, 7}, {}, {.keeps_prefix = false}))
      << "the fault must be able to show";
}

TEST(TransactionOracle, demands_what_was_read_unless_readers_are_promised_less) {
  history h;
  h.invoke(0, deposit(1, 5));
  h.respond(h.invoke(1, read(1, 2)), both(5, 0));
  EXPECT_TRUE(after_crash(h, {1, 5}));
  EXPECT_FALSE(after_crash(h, {}));
  EXPECT_TRUE(after_crash(h, {}, {}, {}, reader_promise::may_see_the_lost));
}

TEST(TransactionOracle, refuses_to_lose_an_update_that_responded_whatever_readers_are_promised) {
  history h;
  h.respond(h.invoke(0, deposit(1, 5)), {true});
  EXPECT_FALSE(after_crash(h, {}, {}, {}, reader_promise::may_see_the_lost));
}

TEST(TransactionOracle, demands_that_a_reader_sees_one_moment) {
  for (const auto& [first, second, right] :
       {std::tuple{100U, 0U, true}, {70U, 30U, true}, {100U, 30U, false}, {70U, 0U, false}}) {
    history h;
    const auto moved = h.invoke(0, move(1, 2, 30));
    h.respond(h.invoke(1, read(1, 2)), both(first, second));
    h.respond(moved, {true});
    EXPECT_EQ(without_crash(h, {1, 70, 2, 30}, {1, 100}), right) << first << ' ' << second;
  }
}

TEST(TransactionOracle, explains_answers_that_a_crash_took_back) {
  history h;
  h.invoke(0, deposit(1, 5));
  h.respond(h.invoke(1, read(1, 2)), both(6, 0));
  EXPECT_FALSE(after_crash(h, {}, {}, {}, reader_promise::may_see_the_lost));
}

TEST(TransactionOracle, keeps_real_time) {
  history h;
  h.respond(h.invoke(0, move(1, 2, 5)), {true});
  h.respond(h.invoke(0, deposit(1, 5)), {true});
  EXPECT_FALSE(after_crash(h, {2, 5}));
  EXPECT_TRUE(after_crash(h, {2, 5}, {}, {.keeps_real_time = false}))
      << "the fault must be able to show";
}

/// A deposit and a move of what it brings, at the same time, with the numbers given.
history concurrent(std::uint64_t deposit_number, std::uint64_t move_number) {
  history h;
  const auto deposited = h.invoke(0, deposit(1, 5));
  const auto moved = h.invoke(1, move(1, 2, 5));
  h.respond(deposited, {true, 0, deposit_number});
  h.respond(moved, {true, 0, move_number});
  return h;
}

TEST(TransactionOracle, keeps_the_order_that_the_subject_reports) {
  EXPECT_TRUE(after_crash(concurrent(0, 0), {2, 5}));
  EXPECT_TRUE(after_crash(concurrent(1, 2), {2, 5}));
  EXPECT_FALSE(after_crash(concurrent(2, 1), {2, 5}));
}

TEST(TransactionOracle, lets_a_move_fail_only_where_there_is_not_enough) {
  history h;
  h.respond(h.invoke(0, move(1, 2, 30)), {false});
  EXPECT_TRUE(after_crash(h, {1, 29}, {1, 29}));
  EXPECT_FALSE(after_crash(h, {1, 30}, {1, 30}));
}

TEST(TransactionOracle, refuses_histories_that_it_cannot_search) {
  history h;
  for (unsigned i = 0; i < 65; ++i) h.respond(h.invoke(0, deposit(1, 1)), {true});
  EXPECT_THROW(static_cast<void>(after_crash(h, {1, 65})), std::length_error);
}

TEST(AccountsOracle, draws_transactions_of_two_different_accounts) {
  verify::random source(1);
  for (unsigned i = 0; i < 200; ++i) {
    const verify::call what = accounts_oracle().draw(source, {.keys = 3}, i);
    EXPECT_NE(accounts_oracle::first(what), accounts_oracle::second(what));
    EXPECT_GE(accounts_oracle::first(what), 1U);
    EXPECT_LE(accounts_oracle::first(what), 3U);
    EXPECT_LE(accounts_oracle::second(what), 3U);
  }
}

}  // namespace
}  // namespace outlast::test
