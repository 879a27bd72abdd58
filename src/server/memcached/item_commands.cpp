// Commands on single items, and the state of a call that both protocols have.
#include <src/server/memcached/item_commands.hpp>

namespace outlast::server::memcached {

void forget(std::string& buffer) {
  constexpr std::size_t kept_bytes = std::size_t{1} << 14;
  buffer.clear();
  if (buffer.capacity() > kept_bytes) buffer.shrink_to_fit();
}

std::string on_one_line(std::string_view text) {
  constexpr std::size_t max_bytes = 512;
  std::string line(text.substr(0, max_bytes));
  std::replace_if(
      line.begin(), line.end(), [](char one) { return static_cast<unsigned char>(one) < ' '; },
      ' ');
  return line;
}

void item_commands::begin_call(std::int64_t now_ms, std::string& replies) {
  out_ = &replies;
  now_ms_ = now_ms;
  first_reply_ = replies.size();
  result_ = {};
  result_.waits = is_durable_;
}

fed item_commands::end_call(std::size_t taken) {
  result_.taken = taken;
  if (result_.waits) result_.version = std::max(result_.version, shown_);
  count(event::bytes_read, taken);
  count(event::bytes_written, out_->size() - first_reply_);
  flush_counts();
  return result_;
}

void item_commands::flush_counts() {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) counters_.add(static_cast<event>(i), counts_[i]);
  }
  counts_ = {};
}

/// Returns the size that memcached counts for an item, so that the same items fit.
std::size_t item_commands::item_bytes(std::string_view key, std::size_t value_bytes,
                                      std::uint32_t flags) const noexcept {
  constexpr std::size_t head_bytes = 56;
  constexpr std::size_t end_bytes = 3;  // after the key and the value
  return head_bytes + key.size() + value_bytes + end_bytes + (flags != 0 ? sizeof flags : 0);
}

bool item_commands::get_item(std::string_view key, looker look) {
  count(event::cmd_get);
  const bool is_there = space_.read(key, now_ms_, use::counts, [&](const item& found) {
    require_string(found);
    shown(found.version);
    look(found);
  });
  if (!is_there) missed();
  count(is_there ? event::get_hits : event::get_misses);
  return is_there;
}

bool item_commands::touch_item(std::string_view key, std::int64_t expires_ms, looker look) {
  bool is_there = false;
  const change_result result = space_.modify(key, now_ms_, [&](const item* found) {
    is_there = found != nullptr;
    if (!is_there) return item_change();
    look(*found);
    item_change change = adjusted(*found);
    change.expires_ms = expires_ms;
    change.how = use::counts;
    return change;
  });
  shown(result.version);
  if (!is_there) missed();
  count(event::cmd_touch);
  count(is_there ? event::touch_hits : event::touch_misses);
  return is_there;
}

bool item_commands::get_and_touch_item(std::string_view key, std::int64_t expires_ms, looker look) {
  const std::size_t began = out_->size();
  const bool is_there = touch_item(key, expires_ms, [&](const item& found) {
    out_->resize(began);  // of a decision that does not count
    require_string(found);
    look(found);
  });
  count(event::cmd_get);
  count(is_there ? event::get_hits : event::get_misses);
  return is_there;
}

remove_outcome item_commands::remove_item(std::string_view key,
                                          std::optional<std::uint64_t> expected) {
  remove_outcome outcome = remove_outcome::not_found;
  const change_result result = space_.modify(key, now_ms_, [&](const item* found) {
    item_change change;
    outcome = remove_outcome::not_found;
    if (found == nullptr) return change;
    outcome = remove_outcome::exists;
    if (expected && *expected != found->unique) return change;
    outcome = remove_outcome::removed;
    change.what = item_change::kind::erase;
    return change;
  });
  shown(result.version);
  if (outcome == remove_outcome::not_found) {
    missed();
    count(event::delete_misses);
  } else if (outcome == remove_outcome::removed) {
    count(event::delete_hits);
  }
  return outcome;
}

void item_commands::remove_outdated(std::string_view key) {
  const change_result result = space_.modify(key, now_ms_, [](const item* old) {
    item_change change;
    if (old != nullptr) change.what = item_change::kind::erase;
    return change;
  });
  shown(result.version);
}

void item_commands::flush_items(std::int64_t from_ms) {
  shown(space_.erase_all(now_ms_, from_ms));
  count(event::cmd_flush);
}

}  // namespace outlast::server::memcached
