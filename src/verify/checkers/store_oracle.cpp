// The specification of stores.
#include <outlast/verify/checkers/store_oracle.hpp>

#include <algorithm>
#include <utility>

namespace outlast::verify {
namespace {

store_operation kind_of(const call& what) { return static_cast<store_operation>(what.kind); }

/// Returns the state after the operation, and the result of the operation.
std::pair<abstract_state, outcome> effect(const abstract_state& before, const call& what) {
  const std::uint64_t first = store_oracle::first(what);
  const std::uint64_t second = store_oracle::second(what);
  switch (kind_of(what)) {
    case store_operation::put: return {bound(before, first, what.argument), {true}};
    case store_operation::erase: return {bound(before, first, std::nullopt), {true}};
    case store_operation::replace:
      return {bound(bound(before, first, std::nullopt), second, what.argument), {true}};
    case store_operation::get: return {before, store_oracle::result(value_of(before, first), {})};
    case store_operation::get_both:
      return {before, store_oracle::result(value_of(before, first), value_of(before, second))};
  }
  return {before, {}};
}

}  // namespace

std::optional<abstract_state> store_oracle::step(const abstract_state& before,
                                                 const event& e) const {
  auto [after, result] = effect(before, e.what);
  const bool differs = result.ok != e.result.ok || result.value != e.result.value;
  if (!e.pending() && differs) return std::nullopt;
  return std::move(after);
}

bool store_oracle::changes(const call& what) const {
  return kind_of(what) != store_operation::get && kind_of(what) != store_operation::get_both;
}

call store_oracle::draw(random& source, const scope& within, std::uint64_t serial) const {
  const std::uint64_t keys = std::max(2U, within.keys);
  const std::uint64_t one = 1 + source.below(keys);
  const std::uint64_t other = 1 + (one + source.below(keys - 1)) % keys;
  switch (source.below(8)) {
    case 0:
    case 1:
    case 2: return make(store_operation::put, one, 0, 100 + serial);
    case 3: return make(store_operation::erase, one, 0, 0);
    case 4:
    case 5: return make(store_operation::replace, one, other, 100 + serial);
    case 6: return make(store_operation::get, one, 0, 0);
    default: return make(store_operation::get_both, one, other, 0);
  }
}

std::vector<call> store_oracle::alphabet(const scope&, std::uint64_t serial) const {
  return {make(store_operation::put, 1, 0, 100 + serial), make(store_operation::erase, 1, 0, 0),
          make(store_operation::replace, 1, 2, 100 + serial),
          make(store_operation::replace, 2, 1, 100 + serial),
          make(store_operation::get_both, 1, 2, 0)};
}

std::vector<std::vector<call>> store_oracle::beginnings(const scope&) const {
  const auto with = [](std::uint64_t keys) {
    std::vector<call> all;
    for (std::uint64_t key = 1; key <= keys; ++key) {
      all.push_back(make(store_operation::put, key, 0, key));
    }
    return all;
  };
  return {{}, with(1), with(3)};
}

std::string store_oracle::describe(const call& what) const {
  const std::string one = std::to_string(first(what));
  const std::string other = std::to_string(second(what));
  const std::string value = std::to_string(what.argument);
  switch (kind_of(what)) {
    case store_operation::put: return "put(" + one + ", " + value + ")";
    case store_operation::erase: return "erase(" + one + ")";
    case store_operation::replace: return "replace(" + one + ", " + other + ", " + value + ")";
    case store_operation::get: return "get(" + one + ")";
    case store_operation::get_both: return "get_both(" + one + ", " + other + ")";
  }
  return "?";
}

std::string store_oracle::describe(const abstract_state& state) const { return map_to_text(state); }

}  // namespace outlast::verify
