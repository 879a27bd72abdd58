// The checker of transactions, and the specification of accounts.
#include <outlast/verify/checkers/transaction_oracle.hpp>

#include <outlast/verify/checkers/prefix_search.hpp>

#include <algorithm>

namespace outlast::verify {
namespace {

std::uint64_t balance(const abstract_state& accounts, std::uint64_t account) {
  return value_of(accounts, account).value_or(0);
}

abstract_state with_balance(abstract_state accounts, std::uint64_t account, std::uint64_t amount) {
  return bound(std::move(accounts), account, amount == 0 ? std::nullopt : std::optional(amount));
}

call on_accounts(account_operation kind, std::uint64_t first, std::uint64_t second,
                 std::uint64_t amount) {
  return {static_cast<std::uint8_t>(kind), first | second << 32, amount};
}

account_operation kind_of(const call& what) { return static_cast<account_operation>(what.kind); }

/// Returns the state after the transaction, and the result of the transaction.
std::pair<abstract_state, outcome> effect(const abstract_state& before, const call& what) {
  const std::uint64_t first = accounts_oracle::first(what);
  const std::uint64_t second = accounts_oracle::second(what);
  const std::uint64_t held = balance(before, first);
  switch (kind_of(what)) {
    case account_operation::deposit:
      return {with_balance(before, first, held + what.argument), {true}};
    case account_operation::move: {
      if (held < what.argument) return {before, {false}};
      abstract_state after = with_balance(before, first, held - what.argument);
      const std::uint64_t received = balance(after, second) + what.argument;
      return {with_balance(std::move(after), second, received), {true}};
    }
    case account_operation::read:
      return {before, accounts_oracle::both(held, balance(before, second))};
  }
  return {before, {}};
}

}  // namespace

bool transaction_oracle::explains(const abstract_state& initial, const history& seen,
                                  const abstract_state& found) const {
  return has_prefix(*meaning_, seen.events(), initial, found, all_that_responded(seen.events()),
                    rules_);
}

bool transaction_oracle::explains_after_crash(const abstract_state& initial, const history& seen,
                                              const abstract_state& found) const {
  prefix_demand demand = all_that_responded(seen.events());
  for (std::size_t i = 0; i < seen.events().size(); ++i) {
    const bool reader = !meaning_->changes(seen.events()[i].what);
    if (reader && readers_ == reader_promise::may_see_the_lost) {
      demand.inside &= ~(std::uint64_t{1} << i);
    }
  }
  return has_prefix(*meaning_, seen.events(), initial, found, demand, rules_);
}

call accounts_oracle::deposit(std::uint64_t account, std::uint64_t amount) {
  return on_accounts(account_operation::deposit, account, 0, amount);
}

call accounts_oracle::move(std::uint64_t from, std::uint64_t to, std::uint64_t amount) {
  return on_accounts(account_operation::move, from, to, amount);
}

call accounts_oracle::read(std::uint64_t first, std::uint64_t second) {
  return on_accounts(account_operation::read, first, second, 0);
}

bool accounts_oracle::explains(const abstract_state& initial, const history& seen,
                               const abstract_state& found) const {
  return has_prefix(*this, seen.events(), initial, found, all_that_responded(seen.events()));
}

std::optional<abstract_state> accounts_oracle::step(const abstract_state& before,
                                                    const event& e) const {
  auto [after, result] = effect(before, e.what);
  if (!e.pending() && result != e.result) return std::nullopt;
  return std::move(after);
}

bool accounts_oracle::changes(const call& what) const {
  return kind_of(what) != account_operation::read;
}

call accounts_oracle::draw(random& source, const scope& within, std::uint64_t serial) const {
  const std::uint64_t accounts = std::max(2U, within.keys);
  const std::uint64_t one = 1 + source.below(accounts);
  const std::uint64_t other = 1 + (one + source.below(accounts - 1)) % accounts;
  switch (source.below(4)) {
    case 0: return deposit(one, 100 + serial);
    case 1: return read(one, other);
    default: return move(one, other, 1 + source.below(60));
  }
}

std::vector<call> accounts_oracle::alphabet(const scope&, std::uint64_t serial) const {
  return {deposit(1, 100 + serial), deposit(2, 100 + serial), move(1, 2, 30), move(2, 1, 30),
          read(1, 2)};
}

std::vector<std::vector<call>> accounts_oracle::beginnings(const scope&) const {
  return {{}, {deposit(1, 50)}};
}

std::string accounts_oracle::describe(const call& what) const {
  const std::string one = std::to_string(first(what));
  const std::string other = std::to_string(second(what));
  const std::string amount = std::to_string(what.argument);
  switch (kind_of(what)) {
    case account_operation::deposit: return "deposit(" + one + ", " + amount + ")";
    case account_operation::move: return "move(" + one + ", " + other + ", " + amount + ")";
    case account_operation::read: return "read(" + one + ", " + other + ")";
  }
  return "?";
}

}  // namespace outlast::verify
