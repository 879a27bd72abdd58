// Accounts with a redo log, in bare memory, with the mistakes that its author may make: the
// reference for the checker of transactions.
//
// An update writes its new balances to the log, makes the log durable, then its decision, then the
// balances, then takes the decision back. Recovery repeats a decided update.
#pragma once

#include "turn.hpp"

#include <outlast/domain/persist.hpp>
#include <outlast/verify/checkers/transaction_oracle.hpp>
#include <outlast/verify/explorer/subject.hpp>

#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>

namespace outlast::test {

enum class log_defect {
  none,
  log_not_fenced,           ///< the decision may be durable before the log
  decision_before_log,      ///< it is
  decision_not_fenced,      ///< the balances may be durable before the decision
  balances_not_fenced,      ///< the decision may be taken back before the balances are durable
  decision_left_behind,     ///< it may be durable still when the next update writes its log
  recovery_forgets_a_word,  ///< the second balance of an update
  readers_take_no_turn,     ///< a reader may see half an update
};

template <log_defect Defect>
class toy_transactions final : public verify::world {
  using D = domain::simulated;
  using number = std::atomic<std::uint64_t>;

  struct change {
    std::uint64_t account;
    std::uint64_t balance;
  };
  struct alignas(64) line {
    number word;  // the decision; a balance
  };
  struct alignas(64) log {
    change changes[2];
    std::uint64_t count;
  };
  static constexpr std::size_t accounts = 4;
  struct layout {
    line decision;  // how many updates were decided, while the last one may be incomplete; else 0
    log written;
    line balances[accounts];
  };

 public:
  toy_transactions(std::span<std::byte> memory, bool)
      : here_(reinterpret_cast<layout*>(memory.data())) {
    domain::persist<D>(here_, sizeof(layout));  // what a killed process left in the caches
    if (D::load(here_->decision.word, std::memory_order_acquire) == 0) return;
    repeat(Defect == log_defect::recovery_forgets_a_word ? 1 : here_->written.count);
    take_decision_back();
    domain::fence<D>();
  }

  verify::outcome apply(const verify::call& what) override {
    using verify::account_operation;
    const auto kind = static_cast<account_operation>(what.kind);
    if (kind == account_operation::read && Defect == log_defect::readers_take_no_turn) {
      return read(what);
    }
    const turn mine(taken_);
    switch (kind) {
      case account_operation::deposit: return deposit(what);
      case account_operation::move: return move(what);
      case account_operation::read: return read(what);
    }
    throw std::logic_error("not offered");
  }

  verify::abstract_state observe() override {
    verify::abstract_state state;
    for (std::uint64_t account = 0; account < accounts; ++account) {
      if (const std::uint64_t held = balance(account); held != 0) {
        state.insert(state.end(), {account, held});
      }
    }
    return state;
  }

 private:
  using bank = verify::accounts_oracle;

  std::uint64_t balance(std::uint64_t account) const {
    if (account >= accounts) throw std::runtime_error("no such account");
    return D::load(here_->balances[account].word, std::memory_order_acquire);
  }

  verify::outcome read(const verify::call& what) const {
    const std::uint64_t first = balance(bank::first(what));
    return bank::both(first, balance(bank::second(what)));
  }

  verify::outcome deposit(const verify::call& what) {
    const std::uint64_t account = bank::first(what);
    return update({{{account, balance(account) + what.argument}, {}}, 1});
  }

  verify::outcome move(const verify::call& what) {
    const std::uint64_t from = bank::first(what);
    const std::uint64_t to = bank::second(what);
    if (balance(from) < what.argument) return {false};
    return update({{{from, balance(from) - what.argument}, {to, balance(to) + what.argument}}, 2});
  }

  verify::outcome update(const log& wanted) {
    if constexpr (Defect == log_defect::decision_before_log) decide();
    D::write(&here_->written, &wanted, sizeof(change) * 2 + sizeof(wanted.count));
    domain::flush<D>(&here_->written, sizeof(here_->written));
    if constexpr (Defect != log_defect::log_not_fenced) domain::fence<D>();
    if constexpr (Defect != log_defect::decision_before_log) decide();
    repeat(wanted.count);
    take_decision_back();
    if constexpr (Defect != log_defect::decision_left_behind) domain::fence<D>();
    return {true, 0, updates_};
  }

  void decide() {
    D::store(here_->decision.word, ++updates_, std::memory_order_release);
    domain::flush<D>(&here_->decision, sizeof(line));
    if constexpr (Defect != log_defect::decision_not_fenced) domain::fence<D>();
  }

  void repeat(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const change made = here_->written.changes[i];
      if (made.account >= accounts) throw std::runtime_error("the log is damaged");
      line& to = here_->balances[made.account];
      D::store(to.word, made.balance, std::memory_order_release);
      domain::flush<D>(&to, sizeof(to));
    }
    if constexpr (Defect != log_defect::balances_not_fenced) domain::fence<D>();
  }

  /// Not fenced.
  void take_decision_back() {
    D::store(here_->decision.word, 0, std::memory_order_release);
    domain::flush<D>(&here_->decision, sizeof(line));
  }

  layout* here_;
  std::uint64_t updates_ = 0;
  bool taken_ = false;
};

template <log_defect Defect>
[[nodiscard]] verify::bare_subject<toy_transactions<Defect>> transactions_subject(
    verify::checker_rules rules = {}) {
  using verify::reader_promise;
  return {"toy_transactions", "hand-written",
          std::make_shared<verify::transaction_oracle>(std::make_shared<verify::accounts_oracle>(),
                                                       reader_promise::durable, rules)};
}

}  // namespace outlast::test
