// The specifications of maps and sequences.
#include <outlast/verify/checkers/oracle.hpp>

#include <outlast/verify/checkers/queue_check.hpp>
#include <outlast/verify/checkers/stack_check.hpp>

#include <array>
#include <string_view>

namespace outlast::verify {
namespace {

/// A sequence with this many operations is checked by rules about its values, not by a search.
constexpr std::size_t long_history = 17;

constexpr std::array<std::string_view, 7> map_names = {"insert", "erase",  "contains", "get",
                                                       "put",    "update", "clear"};

/// One key of a map.
struct entry {
  bool present = false;
  std::uint64_t value = 0;
  friend bool operator==(const entry&, const entry&) = default;
};

entry find(const abstract_state& map, std::uint64_t key) {
  const std::optional<std::uint64_t> value = value_of(map, key);
  return {value.has_value(), value.value_or(0)};
}

/// Returns the entry after the operation, and the result of the operation.
std::pair<entry, outcome> effect(const entry& before, const call& what) {
  const entry written{true, what.argument};
  switch (static_cast<map_operation>(what.kind)) {
    case map_operation::insert: return {before.present ? before : written, {!before.present, 0}};
    case map_operation::erase: return {entry{}, {before.present, 0}};
    case map_operation::contains: return {before, {before.present, 0}};
    case map_operation::get: return {before, {before.present, before.value}};
    case map_operation::put: return {written, {!before.present, 0}};
    case map_operation::update: return {before.present ? written : before, {before.present, 0}};
    case map_operation::clear: return {entry{}, {true, 0}};
  }
  return {before, {}};
}

bool is_clear(const call& what) {
  return static_cast<map_operation>(what.kind) == map_operation::clear;
}

std::optional<entry> map_step(const entry& before, const event& e) {
  const auto [after, result] = effect(before, e.what);
  if (!e.pending() && result != e.result) return std::nullopt;
  return after;
}

std::vector<std::uint64_t> keys_of(const abstract_state& a, const history& h,
                                   const abstract_state& b) {
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < a.size(); i += 2) keys.push_back(a[i]);
  for (std::size_t i = 0; i < b.size(); i += 2) keys.push_back(b[i]);
  for (const event& e : h.events()) keys.push_back(e.what.key);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

/// Returns true if the keys ascend strictly.
bool well_formed(const abstract_state& map) {
  for (std::size_t i = 2; i < map.size(); i += 2) {
    if (map[i - 2] >= map[i]) return false;
  }
  return map.size() % 2 == 0;
}

}  // namespace

std::optional<std::uint64_t> value_of(const abstract_state& map, std::uint64_t key) {
  for (std::size_t i = 0; i + 1 < map.size(); i += 2) {
    if (map[i] == key) return map[i + 1];
  }
  return std::nullopt;
}

abstract_state bound(abstract_state map, std::uint64_t key, std::optional<std::uint64_t> value) {
  std::size_t at = 0;
  while (at < map.size() && map[at] < key) at += 2;
  const auto place = map.begin() + static_cast<std::ptrdiff_t>(at);
  const bool present = at < map.size() && map[at] == key;
  if (present && value) {
    map[at + 1] = *value;
  } else if (present) {
    map.erase(place, place + 2);
  } else if (value) {
    map.insert(place, {key, *value});
  }
  return map;
}

std::string map_to_text(const abstract_state& map) {
  std::string text = "{";
  for (std::size_t i = 0; i + 1 < map.size(); i += 2) {
    text += (i > 0 ? ", " : "") + std::to_string(map[i]) + ": " + std::to_string(map[i + 1]);
  }
  return text + "}";
}

bool stepwise_oracle::explains(const abstract_state& initial, const history& seen,
                               const abstract_state& found) const {
  std::vector<const event*> events;
  for (const event& each : seen.events()) events.push_back(&each);
  return linearizable(
      std::span<const event* const>(events), initial, found,
      [this](const abstract_state& before, const event& e) { return step(before, e); });
}

bool map_oracle::explains(const abstract_state& initial, const history& seen,
                          const abstract_state& found) const {
  if (!well_formed(found)) return false;
  std::vector<const event*> mine;
  for (const std::uint64_t key : keys_of(initial, seen, found)) {
    mine.clear();
    for (const event& e : seen.events()) {
      if (e.what.key == key || is_clear(e.what)) mine.push_back(&e);
    }
    if (!linearizable<entry>(mine, find(initial, key), find(found, key), map_step, rules_)) {
      return false;
    }
  }
  return true;
}

std::optional<abstract_state> map_oracle::step(const abstract_state& before, const event& e) const {
  const std::optional<entry> after = map_step(find(before, e.what.key), e);
  if (!after) return std::nullopt;
  if (is_clear(e.what)) return abstract_state{};
  return bound(before, e.what.key, after->present ? std::optional(after->value) : std::nullopt);
}

bool map_oracle::changes(const call& what) const {
  const auto kind = static_cast<map_operation>(what.kind);
  return kind != map_operation::contains && kind != map_operation::get;
}

call map_oracle::draw(random& source, const scope& within, std::uint64_t serial) const {
  const map_operation kind = offered_[source.below(offered_.size())];
  return make(kind, 1 + source.below(within.keys), serial);
}

call map_oracle::make(map_operation kind, std::uint64_t key, std::uint64_t serial) const {
  if (kind == map_operation::clear) return {static_cast<std::uint8_t>(kind), 0, 0};
  return {static_cast<std::uint8_t>(kind), key, has_values_ ? 100 + serial : 0};
}

std::vector<call> map_oracle::alphabet(const scope& within, std::uint64_t serial) const {
  std::vector<map_operation> kinds = offered_;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::vector<call> calls;
  for (const map_operation kind : kinds) {
    for (std::uint64_t key = 1; key <= within.keys; ++key) calls.push_back(make(kind, key, serial));
  }
  return calls;
}

std::vector<std::vector<call>> map_oracle::beginnings(const scope& within) const {
  std::vector<std::vector<call>> all;
  for (std::uint64_t set = 0; set < std::uint64_t{1} << within.keys; ++set) {
    std::vector<call>& inserts = all.emplace_back();
    for (std::uint64_t key = 1; key <= within.keys; ++key) {
      if ((set >> (key - 1) & 1) != 0) inserts.push_back(make(map_operation::insert, key, key));
    }
  }
  return all;
}

std::string map_oracle::describe(const call& what) const {
  if (is_clear(what)) return "clear()";
  std::string text(map_names[what.kind]);
  text += '(' + std::to_string(what.key);
  const auto kind = static_cast<map_operation>(what.kind);
  const bool writes =
      kind == map_operation::insert || kind == map_operation::put || kind == map_operation::update;
  if (writes && has_values_) text += ", " + std::to_string(what.argument);
  return text + ')';
}

std::string map_oracle::describe(const abstract_state& state) const { return map_to_text(state); }

std::string oracle::describe_result(const call& what, const outcome& result) const {
  static_cast<void>(what);
  std::string text = result.ok ? "yes" : "no";
  if (result.value != 0) text += ' ' + std::to_string(result.value);
  return text;
}

std::optional<abstract_state> sequence_oracle::step(const abstract_state& before,
                                                    const event& e) const {
  abstract_state after = before;
  if (static_cast<sequence_operation>(e.what.kind) == sequence_operation::add) {
    after.push_back(e.what.argument);
    return after;
  }
  if (before.empty()) {
    return e.pending() || !e.result.ok ? std::optional(after) : std::nullopt;
  }
  const bool stack = order_ == discipline::stack;
  const outcome result{true, stack ? after.back() : after.front()};
  after.erase(stack ? after.end() - 1 : after.begin());
  return e.pending() || e.result == result ? std::optional(after) : std::nullopt;
}

bool sequence_oracle::changes(const call&) const { return true; }

bool sequence_oracle::explains(const abstract_state& initial, const history& seen,
                               const abstract_state& found) const {
  if (seen.events().size() >= long_history && adds_unique_values(initial, seen)) {
    return order_ == discipline::queue ? queue_linearizable(initial, seen, found, rules_)
                                       : stack_linearizable(initial, seen, found, rules_);
  }
  std::vector<const event*> all;
  for (const event& e : seen.events()) all.push_back(&e);
  const auto apply = [this](const abstract_state& s, const event& e) { return step(s, e); };
  return linearizable<abstract_state>(all, initial, found, apply, rules_);
}

call sequence_oracle::draw(random& source, const scope&, std::uint64_t serial) const {
  if (source.one_in(2)) return {static_cast<std::uint8_t>(sequence_operation::take), 0, 0};
  return {static_cast<std::uint8_t>(sequence_operation::add), 0, 100 + serial};
}

std::vector<call> sequence_oracle::alphabet(const scope&, std::uint64_t serial) const {
  return {{static_cast<std::uint8_t>(sequence_operation::add), 0, 100 + serial},
          {static_cast<std::uint8_t>(sequence_operation::take), 0, 0}};
}

std::vector<std::vector<call>> sequence_oracle::beginnings(const scope&) const {
  const call first{static_cast<std::uint8_t>(sequence_operation::add), 0, 1};
  const call second{static_cast<std::uint8_t>(sequence_operation::add), 0, 2};
  return {{}, {first}, {first, second}};
}

std::string sequence_oracle::describe(const call& what) const {
  const bool add = static_cast<sequence_operation>(what.kind) == sequence_operation::add;
  return add ? "add(" + std::to_string(what.argument) + ")" : "take()";
}

std::string sequence_oracle::describe_result(const call& what, const outcome& result) const {
  if (static_cast<sequence_operation>(what.kind) == sequence_operation::add) return "done";
  return result.ok ? std::to_string(result.value) : "nothing";
}

std::string sequence_oracle::describe(const abstract_state& state) const {
  std::string text = "[";
  for (std::size_t i = 0; i < state.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(state[i]);
  }
  return text + "]";
}

}  // namespace outlast::verify
