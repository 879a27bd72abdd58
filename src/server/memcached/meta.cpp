// The meta commands of memcached.
#include <src/server/memcached/base64.hpp>
#include <src/server/memcached/text_conversation.hpp>

#include <algorithm>

namespace outlast::server::memcached {

namespace {

constexpr std::string_view long_opaque = "CLIENT_ERROR opaque token too long";

std::size_t words_in(words line) noexcept {
  std::size_t count = 0;
  while (!line.next().empty()) ++count;
  return count;
}

/// Returns the time at which an item expires after a flag. As in memcached, a flag t before T or N
/// shows the time that the item had.
std::int64_t expiry_after(char flag, std::int64_t expires_ms, const meta_flags& flags,
                          bool is_created, std::int64_t now_ms) noexcept {
  if (flag == 'T') return expiry_of(flags.ttl, now_ms);
  if (flag == 'N' && is_created) return expiry_of(flags.ttl_of_new, now_ms);
  return expires_ms;
}

std::int64_t expiry_after_all(std::int64_t expires_ms, const meta_flags& flags, bool is_created,
                              std::int64_t now_ms) noexcept {
  for (const char flag : flags.order()) {
    expires_ms = expiry_after(flag, expires_ms, flags, is_created, now_ms);
  }
  return expires_ms;
}

/// Returns whether the client of an mg is the one that stores the item again: if it is stale, or if
/// it expires earlier than R at the place of R among the flags.
bool wins(const meta_flags& flags, const item& found, std::int64_t now_ms) noexcept {
  if (found.marks.has_winner) return false;
  bool has_won = found.marks.is_stale;
  std::int64_t expires_ms = found.expires_ms;
  for (const char flag : flags.order()) {
    expires_ms = expiry_after(flag, expires_ms, flags, false, now_ms);
    if (flag != 'R' || expires_ms == 0) continue;
    has_won = has_won || remaining_seconds(expires_ms, now_ms) < flags.ttl_to_win;
  }
  return has_won;
}

void add_field(std::string& out, char flag, std::uint64_t value) {
  out += ' ';
  out += flag;
  add_number(out, value);
}

void add_ttl(std::string& out, std::int64_t expires_ms, std::int64_t now_ms) {
  const std::int64_t left = remaining_seconds(expires_ms, now_ms);
  if (left < 0) {
    out += " t-1";
  } else {
    add_field(out, 't', static_cast<std::uint64_t>(left));
  }
}

std::uint64_t idle_seconds(const item& found, std::int64_t now_ms) noexcept {
  if (found.accessed_ms == 0 || found.accessed_ms > now_ms) return 0;
  return static_cast<std::uint64_t>(now_ms - found.accessed_ms) / 1000;
}

}  // namespace

bool text_conversation::run_meta(std::string_view name, words rest) {
  if (name == "mn") {
    answer("MN");
    return true;
  }
  if (name != "mg" && name != "ms" && name != "md" && name != "ma" && name != "me") return false;
  const std::string_view key = rest.next();
  const char letter = name[1];
  count(event::cmd_meta);
  if (key.empty()) {
    answer(letter == 'e' ? bad_format : "ERROR");
  } else if (key.size() > max_key_bytes) {
    answer(bad_format);
  } else if (letter == 's') {
    meta_set(key, rest);
  } else if (words_in(rest) > meta_flags::max_flags) {
    answer(letter == 'g' ? "CLIENT_ERROR options flags are too long"
                         : "CLIENT_ERROR options flags too long");
  } else if (letter == 'e') {
    meta_debug(key, rest);
  } else {
    meta_flags flags;
    const char* problem = flags.read(key, rest);
    if (problem != nullptr) {
      answer(letter == 'g' ? problem : "CLIENT_ERROR invalid or duplicate flag");
    } else if (!flags.opaque_fits()) {
      answer(long_opaque);
    } else if (letter == 'g') {
      meta_get(flags);
    } else {
      letter == 'd' ? meta_delete(flags) : meta_count(flags);
    }
  }
  return true;
}

/// Adds a reply without a value.
void text_conversation::add_meta_reply(std::string_view code, const meta_flags& flags) {
  out_->append(code);
  flags.add_echoes(*out_);
  out_->append("\r\n");
}

void text_conversation::meta_get(const meta_flags& flags) {
  const use how = flags.has('u') ? use::does_not_count : use::counts;
  std::optional<item> before;  // without its value
  bool is_there = false;
  if (!flags.has('T')) {
    is_there = space_.read(flags.key(), now_ms_, how, [&](const item& found) {
      require_string(found);
      if (wins(flags, found, now_ms_)) {
        before = found;
        before->value = {};
        return;
      }
      shown(found.version);
      add_hit(flags, found, false, false);
    });
  }
  const bool changes = flags.has('T') || before || (!is_there && flags.has('N'));
  if (changes) return meta_get_and_change(flags, before);
  if (!is_there) missed();
  count(event::cmd_get);
  count(is_there ? event::get_hits : event::get_misses);
  if (!is_there && !flags.has('q')) add_meta_reply("EN", flags);
}

/// Reads an item whose time or marks change, or creates it. `before` is the item as it was before
/// this command first read it, if it did.
void text_conversation::meta_get_and_change(const meta_flags& flags,
                                            const std::optional<item>& before) {
  bool is_there = false;
  item created;
  const std::size_t began = out_->size();
  const change_result result = space_.modify(flags.key(), now_ms_, [&](const item* found) {
    out_->resize(began);  // of a decision that does not count
    item_change change;
    is_there = found != nullptr;
    if (!is_there) {
      if (!flags.has('N')) return change;
      change.what = item_change::kind::put;
      change.expires_ms = expiry_after_all(0, flags, true, now_ms_);
      change.unique = flags.unique;
      change.marks.has_winner = true;
      change.how = flags.has('u') ? use::does_not_count : use::counts;
      return change;
    }
    require_string(*found);
    const bool has_won = wins(flags, *found, now_ms_);
    item as_it_was = *found;
    if (before) {
      as_it_was.was_read = before->was_read;
      as_it_was.accessed_ms = before->accessed_ms;
    }
    add_hit(flags, as_it_was, false, has_won);
    if (flags.has('T') || has_won) change = adjusted(*found);
    change.expires_ms = expiry_after_all(found->expires_ms, flags, false, now_ms_);
    change.marks.has_winner = found->marks.has_winner || has_won;
    change.how = flags.has('u') ? use::does_not_count : use::counts;
    return change;
  });
  shown(result.version);
  count(event::cmd_get);
  count(is_there ? event::get_hits : event::get_misses);
  if (flags.has('T')) {
    count(event::cmd_touch);
    count(is_there ? event::touch_hits : event::touch_misses);
  }
  if (is_there) return;
  missed();
  if (flags.has('N')) {
    created.unique = result.unique;
    add_hit(flags, created, true, true);
  } else if (!flags.has('q')) {
    add_meta_reply("EN", flags);
  }
}

void text_conversation::add_hit(const meta_flags& flags, const item& found, bool is_created,
                                bool has_won) {
  std::string& out = *out_;
  std::int64_t expires_ms = found.expires_ms;
  if (flags.has('v')) {
    out += "VA ";
    add_number(out, found.value.size());
  } else {
    out += "HD";
  }
  for (const char flag : flags.order()) {
    expires_ms = expiry_after(flag, expires_ms, flags, is_created, now_ms_);
    if (flag == 'c') add_field(out, 'c', found.unique);
    if (flag == 'f') add_field(out, 'f', found.flags);
    if (flag == 'h') add_field(out, 'h', found.was_read ? 1 : 0);
    if (flag == 'l') add_field(out, 'l', idle_seconds(found, now_ms_));
    if (flag == 's') add_field(out, 's', found.value.size());
    if (flag == 't') add_ttl(out, expires_ms, now_ms_);
    flags.add_echo(out, flag);
  }
  if (found.marks.has_winner) out += " Z";
  if (found.marks.is_stale) out += " X";
  if (has_won) out += " W";
  out += "\r\n";
  if (flags.has('v')) out.append(found.value).append("\r\n");
}

void text_conversation::meta_set(std::string_view key, words rest) {
  if (words_in(rest) > meta_flags::max_flags) {  // with the length
    return answer("CLIENT_ERROR options flags too long");
  }
  const std::optional<std::int32_t> size = signed32_of(rest.next());
  constexpr std::int32_t max_size = std::numeric_limits<std::int32_t>::max() - 2;
  if (!size || *size < 0 || *size > max_size) return answer(bad_format);
  const auto bytes = static_cast<std::size_t>(*size);
  flags_ = {};
  const char* problem = flags_.read(key, rest);
  request_ = {.mode = store_mode::set,
              .flags = flags_.client_flags,
              .expires_ms = expiry_of(flags_.ttl, now_ms_),
              .expected = flags_.expected,
              .unique = flags_.unique,
              .takes_older = flags_.has('I')};
  constexpr std::string_view modes = "SEAPR";
  constexpr std::array<store_mode, modes.size()> stored = {store_mode::set, store_mode::add,
                                                           store_mode::append, store_mode::prepend,
                                                           store_mode::replace};
  const std::size_t mode = flags_.has('M') ? modes.find(flags_.mode) : 0;
  if (problem != nullptr || mode == std::string_view::npos || !flags_.opaque_fits()) {
    swallow(bytes);
    if (problem != nullptr) return answer(problem);
    return answer(flags_.opaque_fits() ? "CLIENT_ERROR invalid mode for ms M token" : long_opaque);
  }
  request_.mode = stored[mode];
  is_meta_ = true;
  expect_value(bytes, true);
}

void text_conversation::meta_stored(store_outcome outcome, std::uint64_t unique) {
  if (outcome == store_outcome::stored && flags_.has('q')) return;
  constexpr std::array<std::string_view, 4> codes = {"HD", "NS", "EX", "NF"};
  out_->append(codes[static_cast<std::size_t>(outcome)]);
  for (const char flag : flags_.order()) {
    if (flag == 'c') add_field(*out_, 'c', unique);
    flags_.add_echo(*out_, flag);
  }
  out_->append("\r\n");
}

void text_conversation::meta_delete(const meta_flags& flags) {
  const remove_outcome outcome =
      flags.has('I') ? invalidate(flags) : remove_item(flags.key(), flags.expected);
  if (outcome == remove_outcome::not_found) return add_meta_reply("NF", flags);
  if (outcome == remove_outcome::exists) return add_meta_reply("EX", flags);
  if (!flags.has('q')) add_meta_reply("HD", flags);
}

/// Marks an item as stale. It gets a new number, so that a client that read it before cannot store
/// over the mark.
remove_outcome text_conversation::invalidate(const meta_flags& flags) {
  remove_outcome outcome = remove_outcome::not_found;
  const change_result result = space_.modify(flags.key(), now_ms_, [&](const item* found) {
    outcome = remove_outcome::not_found;
    if (found == nullptr) return item_change();
    require_string(*found);
    outcome = remove_outcome::exists;
    if (flags.expected && *flags.expected != found->unique) return item_change();
    outcome = remove_outcome::removed;
    item_change change = adjusted(*found);
    change.what = item_change::kind::put;
    change.front = found->value;
    change.unique = flags.unique;
    change.marks = {.is_stale = true, .has_winner = false};
    change.how = found->was_read ? use::counts : use::does_not_count;
    if (flags.has('T')) change.expires_ms = expiry_of(flags.ttl, now_ms_);
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

void text_conversation::meta_count(const meta_flags& flags) {
  constexpr std::string_view modes = "I+D-";
  const std::size_t mode = flags.has('M') ? modes.find(flags.mode) : 0;
  if (mode == std::string_view::npos) return answer("CLIENT_ERROR invalid mode for ma M token");
  count_request request{.key = flags.key(), .delta = flags.delta, .decreases = mode >= 2};
  // As in memcached, 0 is every number.
  if (flags.expected && *flags.expected != 0) request.expected = flags.expected;
  if (flags.has('T')) request.expires_ms = expiry_of(flags.ttl, now_ms_);
  if (flags.has('N')) request.initial = flags.initial;
  request.initial_expires_ms = expiry_after_all(0, flags, true, now_ms_);
  request.unique = flags.unique;
  const count_result result = count_item(request);
  switch (result.outcome) {
    case count_outcome::counted:
      if (flags.has('q')) return;
      return add_counted(flags, result);
    case count_outcome::created: return add_counted(flags, result);  // also with q, as in memcached
    case count_outcome::exists: return add_meta_reply("EX", flags);
    case count_outcome::not_found: return add_meta_reply("NF", flags);
    case count_outcome::not_a_number: return answer(not_numeric);
  }
}

void text_conversation::add_counted(const meta_flags& flags, const count_result& result) {
  const decimal digits(result.value);
  std::string& out = *out_;
  if (flags.has('v')) {
    out += "VA ";
    add_number(out, digits.text().size());
  } else {
    out += "HD";
  }
  const bool is_created = result.outcome == count_outcome::created;
  std::int64_t expires_ms = result.old_expires_ms;
  for (const char flag : flags.order()) {
    expires_ms = expiry_after(flag, expires_ms, flags, is_created, now_ms_);
    if (flag == 'c') add_field(out, 'c', result.unique);
    if (flag == 't') add_ttl(out, expires_ms, now_ms_);
    flags.add_echo(out, flag);
  }
  out += "\r\n";
  if (flags.has('v')) out.append(digits.text()).append("\r\n");
}

/// Answers the data of an item. Only the first word after the key is a flag, and only b has an
/// effect.
void text_conversation::meta_debug(std::string_view key, words rest) {
  key_copy stored;
  stored.assign(key);
  const bool is_base64 = rest.next() == "b";
  if (is_base64 && !stored.decode()) return answer(bad_format);
  const bool is_there =
      space_.read(stored.view(), now_ms_, use::does_not_count, [&](const item& found) {
        require_string(found);
        std::string& out = *out_;
        shown(found.version);
        out += "ME ";
        is_base64 ? add_base64(out, stored.view()) : void(out.append(stored.view()));
        out += " exp=";
        out += std::to_string(remaining_seconds(found.expires_ms, now_ms_));
        out += " la=";
        add_number(out, idle_seconds(found, now_ms_));
        out += " cas=";
        add_number(out, found.unique);
        out += found.was_read ? " fetch=yes cls=1 size=" : " fetch=no cls=1 size=";
        add_number(out, item_bytes(stored.view(), found.value.size(), found.flags));
        out += "\r\n";
      });
  if (is_there) return;
  missed();
  answer("EN");
}

}  // namespace outlast::server::memcached
