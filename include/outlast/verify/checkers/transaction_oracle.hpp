// The judge of transactions, and a specification whose transactions touch several words.
//
// There is one order of all transactions; what recovery found is the state after a prefix of it
// that contains every update that had responded; every answer is what its transaction reads at its
// place in the order. All or nothing follows: a state with half a transaction is the state after
// none.
#pragma once

#include <outlast/verify/checkers/oracle.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify {

/// What a crash may do to transactions that have only read.
enum class reader_promise {
  /// What an answer depends on survives (durable linearizability): [Cor20].
  durable,
  /// A reader may have seen an update that a crash then takes back, before that update responded.
  may_see_the_lost,
};

/// Durable transactions. A subject that numbers its updates reports the numbers as stamps; then
/// their order is the order of the numbers.
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
  /// The accounts of a call, which are smaller than 2^32.
  [[nodiscard]] static std::uint64_t first(const call& what) { return what.key & 0xffffffff; }
  [[nodiscard]] static std::uint64_t second(const call& what) { return what.key >> 32; }
  /// What `read` answers.
  [[nodiscard]] static outcome both(std::uint64_t first, std::uint64_t second) {
    return {true, first << 32 | second};
  }

  [[nodiscard]] bool explains(const abstract_state& initial, const history& seen,
                              const abstract_state& found) const override;
  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const override;
  [[nodiscard]] bool changes(const call& what) const override;
  /// Two accounts at least, numbered from 1.
  [[nodiscard]] call draw(random& source, const scope& within, std::uint64_t serial) const override;
  /// Of two accounts.
  [[nodiscard]] std::vector<call> alphabet(const scope& within,
                                           std::uint64_t serial) const override;
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope& within) const override;
  [[nodiscard]] std::string describe(const call& what) const override;
  [[nodiscard]] std::string describe(const abstract_state& state) const override {
    return map_to_text(state);
  }
};

}  // namespace outlast::verify
