// The commands of memcached's binary protocol.
#include <src/server/memcached/binary_conversation.hpp>
#include <src/server/secret.hpp>

#include <optional>

namespace outlast::server::memcached {

/// Executes a request without a value.
void binary_conversation::execute() {
  switch (info_.command) {
    case binary_command::get:
    case binary_command::get_and_touch: return run_get();
    case binary_command::touch: return run_touch();
    case binary_command::remove: return run_remove();
    case binary_command::count: return run_count();
    case binary_command::flush: return run_flush();
    case binary_command::stat: return run_stat();
    case binary_command::version: return reply({.value = options_.version});
    case binary_command::list_mechanisms: return reply({.value = "PLAIN"});
    case binary_command::quit: result_.closes = true; return reply_success();
    case binary_command::noop:
    case binary_command::verbosity: return reply_success();  // the conversation logs nothing
    case binary_command::store:
    case binary_command::authenticate:
    case binary_command::unknown: return;  // are not executed here
  }
}

void binary_conversation::run_get() {
  const auto add = [this](const item& found) { add_item(found, true); };
  const bool is_there = info_.command == binary_command::get
                            ? get_item(key(), add)
                            : get_and_touch_item(key(), expiry_at(0), add);
  if (!is_there) add_miss();
}

/// Changes the time of an item. The reply has its flags, as in memcached.
void binary_conversation::run_touch() {
  const std::size_t began = out_->size();
  const bool is_there = touch_item(key(), expiry_at(0), [&](const item& found) {
    out_->resize(began);  // of a decision that does not count
    add_item(found, false);
  });
  if (!is_there) add_miss();
}

void binary_conversation::add_item(const item& found, bool has_value) {
  std::array<char, sizeof found.flags> flags;
  put_big_endian(flags.data(), found.flags);
  reply({.unique = found.unique,
         .extras = {flags.data(), flags.size()},
         .key = info_.shows_key ? key() : std::string_view(),
         .value = has_value ? found.value : std::string_view()});
}

void binary_conversation::add_miss() {
  if (info_.is_quiet) return;
  if (!info_.shows_key) return reply(status::not_found);
  reply({.result = status::not_found, .key = key()});
}

void binary_conversation::run_store(std::string_view value) {
  std::uint64_t unique = 0;
  switch (store(key(), request_, value, unique)) {
    case store_outcome::stored: return reply_success(unique);
    case store_outcome::exists: return reply(status::exists);
    case store_outcome::not_found: return reply(status::not_found);
    case store_outcome::not_stored: break;
  }
  switch (request_.mode) {
    case store_mode::add: return reply(status::exists);
    case store_mode::replace: return reply(status::not_found);
    case store_mode::set:
    case store_mode::append:
    case store_mode::prepend: return reply(status::not_stored);
  }
}

void binary_conversation::run_remove() {
  std::optional<std::uint64_t> expected;
  if (head_.unique != 0) expected = head_.unique;
  switch (remove_item(key(), expected)) {
    case remove_outcome::removed: return reply_success();
    case remove_outcome::exists: return reply(status::exists);
    case remove_outcome::not_found: return reply(status::not_found);
  }
}

void binary_conversation::run_count() {
  constexpr std::uint32_t creates_none = 0xffffffff;
  constexpr std::size_t initial_at = 8;
  constexpr std::size_t expiry_offset = 16;
  count_request request{
      .key = key(), .delta = extra<std::uint64_t>(0), .decreases = info_.decreases};
  if (head_.unique != 0) request.expected = head_.unique;
  if (extra<std::uint32_t>(expiry_offset) != creates_none) {
    request.initial = extra<std::uint64_t>(initial_at);
    request.initial_expires_ms = expiry_at(expiry_offset);
  }
  const count_result result = count_item(request);
  switch (result.outcome) {
    case count_outcome::exists: return reply(status::exists);
    case count_outcome::not_found: return reply(status::not_found);
    case count_outcome::not_a_number: return reply(status::not_a_number);
    case count_outcome::counted:
    case count_outcome::created: break;
  }
  if (info_.is_quiet) return;
  std::array<char, sizeof result.value> number;
  put_big_endian(number.data(), result.value);
  reply({.unique = result.unique, .value = {number.data(), number.size()}});
}

void binary_conversation::run_flush() {
  flush_items(head_.extras_bytes == 0 ? now_ms_ : expiry_at(0));
  reply_success();
}

/// Answers each number in a reply, and ends with an empty one.
void binary_conversation::run_stat() {
  flush_counts();
  const std::string_view what = key();
  const auto add = [this](std::string_view name, std::string_view value) {
    reply({.key = name, .value = value});
  };
  if (what.empty()) {
    general_stats(add);
  } else if (what == "settings") {
    settings_stats("binary", add);
  } else if (what == "items") {
    item_stats(add);
  } else if (what == "slabs") {
    slab_stats(add);
  } else if (what == "sizes") {
    add("sizes_status", "disabled");
  } else if (what == "reset") {
    counters_.reset();
  } else if (what == "detail dump") {
    add("detailed", "END\r\n");  // as in memcached without counts of prefixes
  } else if (what != "detail on" && what != "detail off") {
    return reply(status::not_found);
  }
  reply(binary_reply{});
}

/// Compares the password of a message of PLAIN: an identity, a name and a password with zero bytes
/// between them. The server has one password and no names.
void binary_conversation::run_authenticate(std::string_view message) {
  if (message.empty() && key() == "PLAIN") return reply(status::authentication_continues);
  const std::size_t name = message.find('\0');
  const std::size_t password = name == std::string_view::npos ? name : message.find('\0', name + 1);
  is_authenticated_ = key() == "PLAIN" && password != std::string_view::npos &&
                      is_same_secret(message.substr(password + 1), options_.password);
  if (!is_authenticated_) return reply(status::unauthenticated);
  reply({.value = "Authenticated"});
}

}  // namespace outlast::server::memcached
