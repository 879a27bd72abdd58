// The checker of transactions, and a specification whose transactions touch several words.
//
// There is one order of all transactions. Recovery found the state after a prefix of it that
// contains every update that had responded. Each result is the value that the transaction reads at
// its place in the order. Atomicity follows: a state with half a transaction is the state after no
// prefix.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify {

/// The guarantee for transactions that have only read.
enum class reader_promise {
  /// The updates that a result depends on survive (durable linearizability): [Cor20].
  durable,
  /// A reader may have seen an update that had not responded and that a crash then reverts.
  may_see_the_lost,
};

/// Checks durable transactions. If a subject numbers its updates, it reports the numbers as stamps,
/// and the order of the updates is the order of the numbers.
/// Thread-safety: immutable, any number of threads.
class transaction_oracle final : public oracle {
 public:
  explicit transaction_oracle(std::shared_ptr<const stepwise_oracle> meaning,
                              reader_promise readers = reader_promise::durable,
                              checker_rules rules = {})
      : meaning_(std::move(meaning)), readers_(readers), rules_(rules) {}
  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  [[nodiscard]] bool explains_after_crash(const abstract_state& initial, const history& seen,
                                          const abstract_state& found) const override;
  [[nodiscard]] call draw(random& source, const scope& within,
                          std::uint64_t serial) const override {
    return meaning_->draw(source, within, serial);
  }
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override {
    return meaning_->alphabet(within, serial);
  }
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override {
    return meaning_->beginnings(within);
  }
  [[nodiscard]] std::string describe(const call& what) const override {
    return meaning_->describe(what);
  }
  [[nodiscard]] std::string describe(const abstract_state& state) const override {
    return meaning_->describe(state);
  }
  [[nodiscard]] std::string describe_result(const call& what,
                                            const outcome& result) const override {
    return meaning_->describe_result(what, result);
  }

 private:
  std::shared_ptr<const stepwise_oracle> meaning_;
  reader_promise readers_;
  checker_rules rules_;
};

enum class account_operation : std::uint8_t {
  deposit,  ///< adds `argument` to the first account; ok
  move,     ///< moves `argument` from the first account to the second; ok if there was enough
  read,     ///< ok and both balances, the first one in the upper half
};

/// Accounts with balances: a state is a map from accounts to balances, without the empty ones.
/// Thread-safety: immutable, any number of threads.
class accounts_oracle final : public stepwise_oracle {
 public:
  [[nodiscard]] static call deposit(std::uint64_t account, std::uint64_t amount);
  [[nodiscard]] static call move(std::uint64_t from, std::uint64_t to, std::uint64_t amount);
  [[nodiscard]] static call read(std::uint64_t first, std::uint64_t second);
  /// Return the accounts of a call, which are smaller than 2^32.
  [[nodiscard]] static std::uint64_t first(const call& what) { return what.key & 0xffffffff; }
  [[nodiscard]] static std::uint64_t second(const call& what) { return what.key >> 32; }
  /// Returns the result of a `read`.
  [[nodiscard]] static outcome both(std::uint64_t first, std::uint64_t second) {
    return {true, first << 32 | second};
  }

  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const override;
  [[nodiscard]] bool changes(const call& what) const override;
  /// Uses at least two accounts, numbered from 1.
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  /// Returns the operations of two accounts.
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override;
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override {
    return map_to_text(state);
  }
};

}  // namespace outlast::verify
