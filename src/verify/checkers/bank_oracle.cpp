// The specification of atomic variables.
#include <outlast/verify/checkers/bank_oracle.hpp>

#include <array>
#include <utility>

namespace outlast::verify {
namespace {

constexpr std::uint32_t max_values = 3;

bank_operation kind_of(const call& what) { return static_cast<bank_operation>(what.kind); }

call make(bank_operation kind, std::uint64_t key, std::uint64_t argument) {
  return {static_cast<std::uint8_t>(kind), key, argument};
}

/// Returns the next value of the variable, and the result of the operation.
std::pair<std::uint64_t, outcome> effect_of(const call& what, std::uint64_t now) {
  switch (kind_of(what)) {
    case bank_operation::load: return {now, {true, now}};
    case bank_operation::store: return {what.argument, {true, 0}};
    case bank_operation::exchange: return {what.argument, {true, now}};
    case bank_operation::compare_exchange:
      if (now == expected_of(what.argument)) return {desired_of(what.argument), {true, now}};
      return {now, {false, now}};
    case bank_operation::fetch_add: return {now + what.argument, {true, now}};
  }
  return {now, {}};
}

}  // namespace

std::optional<abstract_state> bank_oracle::step(const abstract_state& before,
                                                const event& e) const {
  const auto [next, result] = effect_of(e.what, value_of(before, e.what.key).value_or(0));
  if (!e.pending() && !(result == e.result)) return std::nullopt;
  return bound(before, e.what.key, next == 0 ? std::nullopt : std::optional(next));
}

bool bank_oracle::changes(const call& what) const { return kind_of(what) != bank_operation::load; }

call bank_oracle::draw(random& source, const scope& within, std::uint64_t) const {
  const std::uint64_t key = source.below(within.keys);
  const auto value = static_cast<std::uint32_t>(source.below(max_values));
  switch (source.below(6)) {
    case 0: return make(bank_operation::load, key, 0);
    case 1: return make(bank_operation::store, key, value);
    case 2: return make(bank_operation::exchange, key, value);
    case 3: return make(bank_operation::fetch_add, key, 1);
    default: {
      const auto expected = static_cast<std::uint32_t>(source.below(max_values));
      return make(bank_operation::compare_exchange, key, exchange_of(expected, value));
    }
  }
}

std::vector<call> bank_oracle::alphabet(const scope&, std::uint64_t) const {
  return {make(bank_operation::load, 0, 0),
          make(bank_operation::store, 0, 1),
          make(bank_operation::exchange, 0, 2),
          make(bank_operation::fetch_add, 0, 1),
          make(bank_operation::compare_exchange, 0, exchange_of(0, 1)),
          make(bank_operation::compare_exchange, 0, exchange_of(0, 0)),
          make(bank_operation::compare_exchange, 0, exchange_of(1, 0))};
}

std::string bank_oracle::describe(const call& what) const {
  static constexpr std::array names = {"load", "store", "exchange", "compare_exchange",
                                       "fetch_add"};
  std::string text = std::to_string(what.key);
  text.append(".").append(names.at(what.kind)).append("(");
  if (kind_of(what) == bank_operation::compare_exchange) {
    text.append(std::to_string(expected_of(what.argument))).append(" -> ");
    text.append(std::to_string(desired_of(what.argument)));
  } else if (kind_of(what) != bank_operation::load) {
    text.append(std::to_string(what.argument));
  }
  return text.append(")");
}

std::string bank_oracle::describe(const abstract_state& state) const { return map_to_text(state); }

}  // namespace outlast::verify
