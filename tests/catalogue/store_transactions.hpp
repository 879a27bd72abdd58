// Transactions of a store, as scenarios see them, with their specification.
//
// A transaction reads keys and ranges, and its changes are applied if the store still has what it
// read. Otherwise it is repeated. One order of all transactions must explain all results, without
// phantoms: a key that appears in a range that was read is a change of what was read.
#pragma once

#include <outlast/db/detail/changes.hpp>
#include <outlast/db/detail/read_set.hpp>
#include <outlast/verify/checkers/transaction_oracle.hpp>
#include <tests/catalogue/store_in_pool.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify::detail {

/// The operations. `call::key` contains the first key in its lower 32 bits, and the second above.
enum class transaction_operation : std::uint8_t {
  put,     ///< sets the value of the first key; no transaction
  erase,   ///< removes the first key; no transaction
  follow,  ///< sets the first key to the value of the second plus 1, or removes it
  total,   ///< sets the first key to the sum of all values; returns the sum
  clear,   ///< removes all keys from the first to the second, without the second
  both,    ///< returns the values of both keys; changes nothing
};

/// The specification. States are maps, whose values are below 2^20.
class store_transactions_oracle final : public stepwise_oracle {
 public:
  using kind = transaction_operation;
  static constexpr std::uint64_t value_mask = (std::uint64_t{1} << 20) - 1;

  [[nodiscard]] static call make(kind what, std::uint64_t first, std::uint64_t second,
                                 std::uint64_t value) noexcept {
    return {static_cast<std::uint8_t>(what), first | second << 32, value};
  }
  [[nodiscard]] static kind kind_of(const call& what) noexcept {
    return static_cast<kind>(what.kind);
  }

  [[nodiscard]] std::optional<abstract_state> step(const abstract_state& before,
                                                   const event& e) const override {
    auto [after, result] = effect(before, e.what);
    const bool differs = result.ok != e.result.ok || result.value != e.result.value;
    if (!e.pending() && differs) return std::nullopt;
    return std::move(after);
  }
  [[nodiscard]] bool changes(const call& what) const override {
    return kind_of(what) != kind::both;
  }
  [[nodiscard]] call draw(random& source, const scope& within,
                          std::uint64_t serial) const override {
    const std::uint64_t keys = std::max(2U, within.keys);
    const std::uint64_t one = 1 + source.below(keys);
    const std::uint64_t other = 1 + (one + source.below(keys - 1)) % keys;
    switch (source.below(8)) {
      case 0:
      case 1: return make(kind::put, one, 0, 100 + serial);
      case 2: return make(kind::erase, one, 0, 0);
      case 3:
      case 4: return make(kind::follow, one, other, 0);
      case 5: return make(kind::total, one, 0, 0);
      case 6: return make(kind::clear, std::min(one, other), std::max(one, other), 0);
      default: return make(kind::both, one, other, 0);
    }
  }
  [[nodiscard]] std::vector<call> alphabet(const scope&, std::uint64_t serial) const override {
    return {make(kind::put, 1, 0, 100 + serial), make(kind::erase, 1, 0, 0),
            make(kind::follow, 1, 2, 0),         make(kind::follow, 2, 1, 0),
            make(kind::total, 2, 0, 0),          make(kind::both, 1, 2, 0)};
  }
  [[nodiscard]] std::vector<std::vector<call>> beginnings(const scope&) const override {
    return {{},
            {make(kind::put, 1, 0, 1)},
            {make(kind::put, 1, 0, 1), make(kind::put, 2, 0, 2), make(kind::put, 3, 0, 3)}};
  }
  [[nodiscard]] std::string describe(const call& what) const override {
    const std::string one = std::to_string(store_oracle::first(what));
    const std::string other = std::to_string(store_oracle::second(what));
    switch (kind_of(what)) {
      case kind::put: return "put(" + one + ", " + std::to_string(what.argument) + ")";
      case kind::erase: return "erase(" + one + ")";
      case kind::follow: return "follow(" + one + ", " + other + ")";
      case kind::total: return "total(" + one + ")";
      case kind::clear: return "clear(" + one + ", " + other + ")";
      case kind::both: return "both(" + one + ", " + other + ")";
    }
    return "?";
  }
  [[nodiscard]] std::string describe(const abstract_state& state) const override {
    return map_to_text(state);
  }

 private:
  static std::pair<abstract_state, outcome> effect(const abstract_state& before, const call& what) {
    const std::uint64_t first = store_oracle::first(what);
    const std::uint64_t second = store_oracle::second(what);
    const auto of_second = value_of(before, second);
    switch (kind_of(what)) {
      case kind::put: return {bound(before, first, what.argument), {true}};
      case kind::erase: return {bound(before, first, std::nullopt), {true}};
      case kind::follow:
        if (!of_second) return {bound(before, first, std::nullopt), {false}};
        return {bound(before, first, (*of_second + 1) & value_mask), {true}};
      case kind::total: {
        std::uint64_t sum = 0;
        for (std::size_t i = 1; i < before.size(); i += 2) sum += before[i];
        return {bound(before, first, sum & value_mask), {true, sum & value_mask}};
      }
      case kind::clear: {
        abstract_state after = before;
        for (std::uint64_t key = first; key < second; ++key) {
          after = bound(std::move(after), key, std::nullopt);
        }
        return {std::move(after), {true}};
      }
      case kind::both: return {before, store_oracle::result(value_of(before, first), of_second)};
    }
    return {before, {}};
  }
};

/// An opened store of which the scenario makes transactions.
template <class Store>
class store_transactions_world final : public store_world<Store> {
  using store_world<Store>::structure_;
  using kind = transaction_operation;

 public:
  using store_world<Store>::store_world;

  outcome apply(const call& what) override {
    const std::uint64_t first = store_oracle::first(what);
    const std::uint64_t second = store_oracle::second(what);
    switch (store_transactions_oracle::kind_of(what)) {
      case kind::put: structure_->put(first, what.argument); return {true};
      case kind::erase: structure_->erase(first); return {true};
      case kind::follow: return follow(first, second);
      case kind::total: return total(first);
      case kind::clear: {
        store_detail::changes all;
        all.erase_range(text_of_number(first), text_of_number(second));
        structure_->core().apply(std::move(all), true);
        return {true};
      }
      case kind::both: return both(first, second);
    }
    return {};
  }

 private:
  /// Reads a key, without a snapshot, and notes what was read.
  std::optional<std::uint64_t> read(std::uint64_t key, store_detail::read_set& seen) {
    std::string value;
    const std::string name = text_of_number(key);
    const bool is_there =
        structure_->core().get(name, value, false) == store_detail::lookup_status::found;
    seen.expect(name, is_there ? std::optional(value) : std::nullopt);
    return is_there ? std::optional(number_in_text(value)) : std::nullopt;
  }
  outcome follow(std::uint64_t first, std::uint64_t second) {
    for (;;) {
      store_detail::read_set seen;
      store_detail::changes all;
      const auto there = read(second, seen);
      if (there) {
        all.put(text_of_number(first),
                text_of_number((*there + 1) & store_transactions_oracle::value_mask));
      } else {
        all.erase(text_of_number(first));
      }
      if (structure_->core().apply_if(std::move(seen), std::move(all), true)) return {!!there};
    }
  }
  outcome total(std::uint64_t first) {
    for (;;) {
      store_detail::read_set seen;
      store_detail::read_set::range every;
      std::uint64_t sum = 0;
      {
        const auto now = structure_->core().take_snapshot();
        const auto at = now->iterate();
        for (at->seek_to_first(); at->is_valid(); at->next()) {
          const auto [key, value] = at->here();
          every.held.emplace_back(key, value);
          sum += number_in_text(value);
        }
      }
      sum &= store_transactions_oracle::value_mask;
      seen.expect(std::move(every));
      store_detail::changes all;
      all.put(text_of_number(first), text_of_number(sum));
      if (structure_->core().apply_if(std::move(seen), std::move(all), true)) return {true, sum};
    }
  }
  outcome both(std::uint64_t first, std::uint64_t second) {
    for (;;) {
      store_detail::read_set seen;
      const auto one = read(first, seen);
      const auto other = read(second, seen);
      if (structure_->core().holds(seen)) return store_oracle::result(one, other);
    }
  }
};

/// A store in a pool of the simulated domain, with the checker of transactions.
template <class Store>
class store_transactions_subject final : public structure_subject<Store> {
 public:
  using structure_subject<Store>::structure_subject;

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const auto& how = this->how();
    return std::make_unique<store_transactions_world<Store>>(memory, fresh, how.make, how.blocks);
  }

 private:
  transaction_oracle checker_{std::make_shared<store_transactions_oracle>()};
};

}  // namespace outlast::verify::detail
