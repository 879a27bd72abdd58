// The changes that all protocols share: stored values and counted numbers.
#include <src/server/memcached/item_commands.hpp>
#include <src/server/memcached/text.hpp>

#include <algorithm>

namespace outlast::server::memcached {

namespace {

/// Returns a view of that many blanks, which `storage` contains if they are many.
std::string_view blanks(std::size_t count, std::string& storage) {
  constexpr std::string_view some = "                                ";
  if (count <= some.size()) return some.substr(0, count);
  storage.assign(count, ' ');
  return storage;
}

}  // namespace

store_outcome item_commands::store(std::string_view key, const store_request& request,
                                   std::string_view value, std::uint64_t& unique) {
  store_outcome outcome = store_outcome::stored;
  bool was_there = false;
  const change_result result = space_.modify(key, now_ms_, [&](const item* old) {
    was_there = old != nullptr;
    outcome = store_outcome::stored;
    return changed_item(key, request, old, value, outcome);
  });
  shown(result.version);
  if (!was_there && outcome != store_outcome::stored) missed();
  unique = outcome == store_outcome::stored ? result.unique : 0;
  count(event::cmd_set);
  if (outcome == store_outcome::stored) count(event::total_items);
  if (request.expected) {
    const bool is_bad = outcome == store_outcome::exists;
    count(!was_there ? event::cas_misses : is_bad ? event::cas_badval : event::cas_hits);
  }
  return outcome;
}

/// Decides on a value for the item `old`, or nullptr.
item_change item_commands::changed_item(std::string_view key, const store_request& request,
                                        const item* old, std::string_view value,
                                        store_outcome& outcome) const {
  item_change change;
  const store_mode mode = request.mode;
  const bool extends = mode == store_mode::append || mode == store_mode::prepend;
  const auto refuse = [&](store_outcome why) {
    outcome = why;
    return item_change();
  };
  if (old == nullptr) {
    if (extends) return refuse(store_outcome::not_stored);
    if (request.expected && mode != store_mode::add) return refuse(store_outcome::not_found);
    if (mode == store_mode::replace) return refuse(store_outcome::not_stored);
  } else if (mode == store_mode::add) {
    return refuse(store_outcome::not_stored);
  } else if (mode != store_mode::set || request.expected) {
    require_string(*old);
  }
  change.what = item_change::kind::put;
  change.flags = request.flags;
  change.expires_ms = request.expires_ms;
  change.unique = request.unique;
  change.front = value;
  if (old == nullptr) return change;
  if (request.expected && *request.expected != old->unique) {
    const bool is_older = *request.expected < old->unique;
    if (!request.takes_older || !is_older || extends) return refuse(store_outcome::exists);
    // A client stored an outdated value: it is served until another client has stored a newer one.
    change.expires_ms = old->expires_ms;
    change.marks = {.is_stale = true, .has_winner = old->marks.has_winner};
  }
  if (!extends) return change;
  if (item_bytes(key, old->value.size() + value.size(), old->flags) > options_.max_item_bytes) {
    return refuse(store_outcome::not_stored);
  }
  change.flags = old->flags;
  change.expires_ms = old->expires_ms;
  change.front = mode == store_mode::append ? old->value : value;
  change.back = mode == store_mode::append ? value : old->value;
  return change;
}

count_result item_commands::count_item(const count_request& request) {
  count_result result;
  std::optional<decimal> digits;
  std::string storage;
  const auto decide = [&](const item* old) {
    item_change change;
    result.outcome = count_outcome::not_found;
    if (old == nullptr) {
      if (!request.initial) return change;
      result.outcome = count_outcome::created;
      result.value = *request.initial;
      change.expires_ms = request.initial_expires_ms;
    } else {
      require_string(*old);
      result.old_expires_ms = old->expires_ms;
      result.outcome = count_outcome::not_a_number;
      if (old->value.empty()) return change;  // before its number is compared, as in memcached
      result.outcome = count_outcome::exists;
      if (request.expected && *request.expected != old->unique) return change;
      result.outcome = count_outcome::not_a_number;
      const std::string_view text = old->value.substr(0, old->value.find('\0'));
      const std::optional<std::uint64_t> number = unsigned_of(text);
      if (!number) return change;
      result.outcome = count_outcome::counted;
      result.value =
          request.decreases ? *number - std::min(*number, request.delta) : *number + request.delta;
    }
    digits.emplace(result.value);
    change.what = item_change::kind::put;
    change.front = digits->text();
    change.unique = request.unique;
    if (old == nullptr) return change;
    change.expires_ms = request.expires_ms.value_or(old->expires_ms);
    change.flags = old->flags;
    // memcached overwrites the number where it is if its length suffices. The item keeps the rest.
    if (change.front.size() <= old->value.size()) {
      change.back = blanks(old->value.size() - change.front.size(), storage);
      change.marks = old->marks;
      change.how = old->was_read ? use::counts : use::does_not_count;
    }
    return change;
  };
  const change_result done = space_.modify(request.key, now_ms_, decide);
  shown(done.version);
  if (result.outcome == count_outcome::not_found) missed();
  result.unique = done.unique;
  count_event_of(request, result.outcome);
  return result;
}

void item_commands::count_event_of(const count_request& request, count_outcome outcome) noexcept {
  switch (outcome) {
    case count_outcome::counted:
      return count(request.decreases ? event::decr_hits : event::incr_hits);
    case count_outcome::created:
    case count_outcome::not_found:
      return count(request.decreases ? event::decr_misses : event::incr_misses);
    case count_outcome::exists: return count(event::cas_badval);
    case count_outcome::not_a_number: return;
  }
}

}  // namespace outlast::server::memcached
