// Verifies a transaction manager. Its operations move amounts between accounts.
#pragma once

#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/replica_session.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>
#include <outlast/verify/checkers/transaction_oracle.hpp>
#include <outlast/verify/explorer/structure_subject.hpp>
#include <outlast/verify/explorer/subject.hpp>
#include <outlast/verify/machine/replicas_at_risk.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace outlast::verify {

/// The smallest permitted replicas, because recovery copies them.
inline constexpr tx::options small_replicas{
    .replica_bytes = 8192, .page_bytes = 256, .replicas = 6};

/// Balances in lines of their own, and the serial number of the last change in another line.
struct stored_accounts {
  struct alignas(64) account {
    tx::field<std::uint64_t> balance;
  };
  static constexpr std::size_t count = 5;

  std::array<account, count> of;
  alignas(64) tx::field<std::uint64_t> serial;
};

/// Thrown by a move whose first balance is too low, after it has made half of its writes.
struct not_enough {};

/// Reads by the manager itself. Classes that read in another way have the same members.
template <class Manager>
class own_reads {
 public:
  using pool_type = typename Manager::pool_type;

  static constexpr tx::options space = small_replicas;
  [[nodiscard]] static std::unique_ptr<pool_type> open(std::span<std::byte> memory, bool fresh) {
    return open_pool<pool_type>(memory, fresh);
  }
  own_reads(pool_type& /*pool*/, Manager& manager) : manager_(manager) {}

  template <class T, class F>
  auto read(tx::root<T> named, F&& f) {
    return manager_.read(named, f);
  }

 private:
  Manager& manager_;
};

/// A manager in a pool, opened.
template <class Manager, template <class> class Reads>
class accounts_world final : public world {
  using D = domain::simulated;
  using pool_type = typename Manager::pool_type;
  using accounts = stored_accounts;

 public:
  accounts_world(std::span<std::byte> memory, bool fresh)
      : pool_(Reads<Manager>::open(memory, fresh)),
        manager_(std::make_unique<Manager>(*pool_, "subject", Reads<Manager>::space)),
        reads_(std::in_place, *pool_, *manager_),
        all_(manager_->template root<accounts>("accounts")),
        replicas_(*static_cast<const tx::detail::replica_session<D>*>(manager_->identity())) {}

  outcome apply(const call& what) override {
    switch (static_cast<account_operation>(what.kind)) {
      case account_operation::deposit: return deposit(what);
      case account_operation::move: return move(what);
      case account_operation::read: return read(what);
    }
    return {};
  }

  abstract_state observe() override {
    abstract_state state;
    for (std::size_t i = 0; i < accounts::count; ++i) {
      const std::uint64_t held =
          manager_->read(all_, [=](const accounts& a) { return a.of.at(i).balance.get(); });
      if (held != 0) state.insert(state.end(), {i, held});
    }
    return state;
  }

  std::string check_risks(const memory& media) const override { return replicas_.check(media); }

  std::string check(bool) override {
    const std::string wrong = pool_->pages().check();
    return wrong.empty() ? first_error(pool_->check()) : wrong;
  }

  void close() override {
    reads_.reset();
    manager_.reset();
    pool_->close();
  }

 private:
  using meaning = accounts_oracle;

  outcome deposit(const call& what) {
    const std::uint64_t serial = manager_->update(all_, [=](accounts& a) {
      a.of.at(meaning::first(what)).balance += what.argument;
      return (++a.serial).get();
    });
    return {true, 0, serial};
  }

  outcome move(const call& what) {
    std::uint64_t serial = 0;
    try {
      serial = manager_->update(all_, [=](accounts& a) {
        a.of.at(meaning::second(what)).balance += what.argument;
        ++a.serial;
        if (a.of.at(meaning::first(what)).balance < what.argument) throw not_enough();
        a.of.at(meaning::first(what)).balance -= what.argument;
        return a.serial.get();
      });
    } catch (const not_enough&) {
      return {false};
    }
    return {true, 0, serial};
  }

  outcome read(const call& what) {
    const auto [first, second] = reads_->read(all_, [=](const accounts& a) {
      const std::uint64_t one = a.of.at(meaning::first(what)).balance;
      D::schedule_point(&a.of.at(meaning::second(what)));
      return std::array<std::uint64_t, 2>{one, a.of.at(meaning::second(what)).balance};
    });
    return meaning::both(first, second);
  }

  std::unique_ptr<pool_type> pool_;
  std::unique_ptr<Manager> manager_;
  std::optional<Reads<Manager>> reads_;
  tx::root<accounts> all_;
  replicas_at_risk replicas_;
};

/// A `Manager` with the checker of transactions. `Reads` makes its reads.
template <class Manager, template <class> class Reads = own_reads>
class accounts_subject final : public subject {
 public:
  explicit accounts_subject(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string structure() const override { return name_; }
  [[nodiscard]] std::string policy() const override { return std::string(Manager::engine_name()); }
  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::size_t memory_bytes() const override { return std::size_t{128} << 10; }
  [[nodiscard]] std::optional<bool> exists(std::span<const std::byte> memory) const override {
    return holds_pool(memory);
  }
  void format(std::span<std::byte> memory) override {
    static_cast<void>(Reads<Manager>::open(memory, true));
  }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    return std::make_unique<accounts_world<Manager, Reads>>(memory, fresh);
  }

 private:
  std::string name_;
  transaction_oracle checker_{std::make_shared<accounts_oracle>()};
};

}  // namespace outlast::verify
