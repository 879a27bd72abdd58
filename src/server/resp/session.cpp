// The conversation of RESP: takes requests, finds their commands, and keeps the connection's state.
#include <outlast/base/error.hpp>

#include <src/server/resp/commands.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/refusal.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>
#include <src/server/secret.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::server::resp {
namespace {

constexpr std::size_t max_shown_bytes = 128;

/// Restores a flag when a call of together() ends, by an exception too.
class flag_scope {
 public:
  explicit flag_scope(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  ~flag_scope() { flag_ = false; }
  flag_scope(const flag_scope&) = delete;
  flag_scope& operator=(const flag_scope&) = delete;

 private:
  bool& flag_;
};

/// Returns the text up to a zero byte, and at most `size` bytes of it.
std::string_view shown(std::string_view text, std::size_t size) noexcept {
  return until_zero(text).substr(0, size);
}

std::string arity_error(std::string_view name) {
  return std::string("ERR wrong number of arguments for '").append(name).append("' command");
}

}  // namespace

session::session(item_space& space, const resp_options& options, resp_counters& counters,
                 const resp_ends& ends)
    : out(options.limits.reply_bytes),
      space_(space),
      options_(options),
      counters_(counters),
      ends_(ends),
      id_(counters.connections.fetch_add(1, std::memory_order_relaxed) + 1) {
  counters_.open_connections.fetch_add(1, std::memory_order_relaxed);
  client.is_authenticated = options.password.empty();
  random_ = id_ * 0x9e3779b97f4a7c15U;
}

session::~session() { counters_.open_connections.fetch_sub(1, std::memory_order_relaxed); }

request_limits session::limits() const noexcept {
  const resp_limits& all = options_.limits;
  request_limits chosen{all.bulk_bytes,    all.arguments,  all.inline_bytes,
                        all.request_bytes, all.bulk_bytes, all.arguments};
  if (!client.is_authenticated) {
    chosen.allowed_bulk_bytes = std::min(all.bulk_bytes, all.unauthenticated_bulk_bytes);
    chosen.allowed_arguments = std::min(all.arguments, all.unauthenticated_arguments);
  }
  return chosen;
}

fed session::feed(std::string_view bytes, std::int64_t now_ms, std::string& replies) {
  using outcome = request_parser::outcome;
  now_ms_ = now_ms;
  if (created_ms_ == 0) created_ms_ = now_ms;
  version_ = 0;
  waits_ = client.is_durable;
  out.begin(replies);
  const std::size_t began = replies.size();
  fed done;
  while (!closes_) {
    if (replies.size() - began >= options_.limits.pause_bytes && done.taken < bytes.size()) {
      done.pauses = true;
      break;
    }
    const outcome found = parser_.next(bytes, done.taken, limits());
    if (found == outcome::incomplete) break;
    if (found == outcome::failed) {
      out.error(parser_.failure());
      closes_ = true;
    } else if (found == outcome::request) {
      execute(parser_.words());
      parser_.release();
    }
  }
  if (closes_) done.taken = bytes.size();
  done.version = version_;
  done.waits = waits_;
  done.closes = closes_;
  count(done.taken, replies.size() - began);
  return done;
}

void session::count(std::size_t input_bytes, std::size_t output_bytes) noexcept {
  const auto add = [](std::atomic<std::uint64_t>& to, std::uint64_t number) {
    if (number != 0) to.fetch_add(number, std::memory_order_relaxed);
  };
  add(counters_.commands, std::exchange(commands_, 0));
  add(counters_.hits, std::exchange(hits_, 0));
  add(counters_.misses, std::exchange(misses_, 0));
  add(counters_.errors, out.errors() - std::exchange(counted_errors_, out.errors()));
  add(counters_.input_bytes, input_bytes);
  add(counters_.output_bytes, output_bytes);
}

void session::execute(arguments words) {
  ++commands_;
  const std::size_t began = out.size();
  client.skips_this_reply = std::exchange(client.skips_next_reply, false);
  const command* const which = admit(words);
  if (which != nullptr) {
    if (transaction.is_open && !which->has(while_queued)) {
      enqueue(*which, words);
    } else {
      call(*which, words);
    }
  }
  if (client.has_no_replies || client.skips_this_reply || client.skips_next_reply) {
    out.cut(began);
  }
  if (out.is_full()) {
    out.cut(began);
    closes_ = true;
  }
}

const command* session::admit(arguments words) {
  const command* which = find_command(words[0]);
  if (which != nullptr && which->has(is_subcommand)) which = nullptr;
  if (which != nullptr && which->has(needs_parts) && !space_.has_parts()) which = nullptr;
  if (which != nullptr && which->has(has_subcommands) && words.size() > 1) {
    const command* const part = find_subcommand(*which, words[1]);
    if (part == nullptr) {
      std::string text("ERR unknown subcommand '");
      text.append(shown(words[1], max_shown_bytes)).append("'. Try ");
      for (const char letter : which->name) text.push_back(upper(letter));
      out.error(text.append(error_texts::see_help));
      transaction.is_broken = transaction.is_open;
      return nullptr;
    }
    which = part;
  }
  if (which == nullptr) {
    refuse_unknown(words);
  } else {
    const std::string refusal = refusal_of(*which, words.size());
    if (refusal.empty()) return which;
    if (which->run == commands::exec) {
      abort_exec(refusal);
    } else {
      out.error(refusal);
    }
  }
  transaction.is_broken = transaction.is_open;
  return nullptr;
}

std::string session::refusal_of(const command& which, std::size_t words) const {
  if (!which.accepts(words)) return arity_error(which.name);
  if (!client.is_authenticated && !which.has(without_password)) {
    return std::string(error_texts::not_authenticated);
  }
  if (transaction.is_open && which.has(not_in_multi)) {
    return "ERR Command not allowed inside a transaction";
  }
  return {};
}

/// Ends the transaction of an EXEC that is refused itself.
void session::abort_exec(std::string_view refusal) {
  if (refusal.starts_with("ERR ")) refusal.remove_prefix(4);
  end_transaction();
  out.error(std::string(error_texts::aborted_because).append(refusal));
}

void session::refuse_unknown(arguments words) {
  const std::string_view name = shown(words[0], max_shown_bytes);
  if (is_word(name, "post") || is_word(name, "host:")) {
    closes_ = true;  // A browser was made to send these bytes: the rest of them is no request.
    return;
  }
  std::string upper_name;
  for (const char letter : name) upper_name.push_back(upper(letter));
  const command* const found = find_command(words[0]);
  if (found != nullptr && found->has(needs_parts)) {
    return out.error("ERR '" + upper_name + "' needs a server in store mode");
  }
  if (const std::string_view other = name_without_waiting(words[0]); !other.empty()) {
    std::string text("ERR '");
    text.append(upper_name).append("' is refused, for no command waits for elements; use '");
    for (const char letter : other) text.push_back(upper(letter));
    return out.error(text.append("'"));
  }
  std::string shown_words;
  for (const std::string_view word : words.subspan(1)) {
    if (shown_words.size() >= max_shown_bytes) break;
    const std::size_t room = max_shown_bytes - shown_words.size();
    shown_words.append("'").append(shown(word, room)).append("' ");
  }
  out.error(std::string("ERR unknown command '")
                .append(name)
                .append("', with args beginning with: ")
                .append(shown_words));
}

void session::refuse_arity(std::string_view name) { out.error(arity_error(name)); }

void session::enqueue(const command& which, arguments words) {
  std::size_t size = sizeof(queued_command) + words.size() * sizeof(std::size_t);
  for (const std::string_view word : words) size += word.size();
  if (!reserve_queue(size)) {
    transaction.is_broken = true;
    return out.error("ERR transaction is longer than " +
                     std::to_string(options_.limits.queued_bytes) +
                     " bytes; use shorter transactions");
  }
  queued_command& made = transaction.queue.emplace_back();
  made.which = &which;
  made.sizes.reserve(words.size());
  for (const std::string_view word : words) {
    made.bytes.append(word);
    made.sizes.push_back(word.size());
  }
  out.simple("QUEUED");
}

bool session::accept_database(std::string_view text) {
  const std::optional<std::int64_t> number = integer_of(text);
  if (!number) {
    refuse_integer();
  } else if (*number != static_cast<std::int32_t>(*number)) {
    out.error("ERR value is out of range, value must between -2147483648 and 2147483647");
  } else if (*number != 0) {
    out.error("ERR DB index is out of range");
  } else {
    return true;
  }
  return false;
}

bool session::reserve_queue(std::size_t bytes) {
  const std::size_t limit = options_.limits.queued_bytes;
  if (bytes > limit || transaction.bytes > limit - bytes) return false;
  transaction.bytes += bytes;
  return true;
}

void session::call(const command& which, arguments words) {
  const std::size_t began = out.size();
  const std::string_view outer = std::exchange(running, which.name);
  std::string failure;
  try {
    which.run(*this, words);
  } catch (const refusal& thrown) {
    failure = thrown.text();
  } catch (const out_of_space&) {
    failure = error_texts::no_space;
  } catch (const error& thrown) {
    const bool is_full = thrown.reason() == errc::no_space || thrown.reason() == errc::pool_full;
    if (is_full) {
      failure = error_texts::no_space;
    } else {
      failure = std::string("MISCONF ").append(thrown.what());
    }
  }
  running = outer;
  if (failure.empty()) return;
  out.cut(began);
  out.error(failure);
}

bool session::note_look(bool found) {
  // The erasure of the key may not be durable yet.
  if (!found) note_seen(space_.present_token());
  ++(found ? hits_ : misses_);
  return found;
}

void session::note_decision(const change_result& done, bool was_there) {
  if (done.changed) {
    note_change(done.version);
  } else {
    note_seen(was_there ? done.version : space_.present_token());
  }
}

bool session::look(std::string_view key, use how, item_space::reader reader) {
  return note_look(space_.read(key, now_ms_, how, [&](const item& seen) {
    note_seen(seen.version);
    reader(seen);
  }));
}

bool session::look_string(std::string_view key, item_space::reader reader) {
  return look(key, [&](const item& seen) {
    require_type(seen, item_type::string);
    reader(seen);
  });
}

bool session::look_parts(std::string_view key, use how, item_space::parts_reader reader) {
  return note_look(space_.read_parts(key, now_ms_, how, [&](const item& seen, item_parts& parts) {
    note_seen(seen.version);
    reader(seen, parts);
  }));
}

change_result session::change(std::string_view key, item_space::decider decide) {
  const std::size_t began = out.size();
  bool was_there = false;
  const change_result done = space_.modify(key, now_ms_, [&](const item* old) {
    out.cut(began);  // of a decision that does not count
    was_there = old != nullptr;
    return decide(old);
  });
  note_decision(done, was_there);
  return done;
}

change_result session::change_string(std::string_view key, item_space::decider decide) {
  return change(key, [&](const item* old) {
    if (old != nullptr) require_type(*old, item_type::string);
    return decide(old);
  });
}

change_result session::change_parts(std::string_view key, item_space::parts_decider decide) {
  bool was_there = false;
  const change_result done =
      space_.modify_parts(key, now_ms_, [&](const item* old, item_parts& parts) {
        was_there = old != nullptr;
        return decide(old, parts);
      });
  note_decision(done, was_there);
  return done;
}

void session::together(base::function_ref<void()> work) {
  if (is_together_) return work();
  const flag_scope inside(is_together_);
  space_.together(work);
}

void session::erase_all() { note_change(space_.erase_all(now_ms_, 0)); }

std::uint64_t session::scan(std::uint64_t cursor, std::size_t count, item_space::visitor visit) {
  return space_.scan(cursor, count, now_ms_, [&](std::string_view key, const item& seen) {
    note_seen(seen.version);
    visit(key, seen);
  });
}

void session::note_change(token version) noexcept {
  version_ = std::max(version_, version);
  last_change_ = std::max(last_change_, version);
}

void session::note_seen(token version) noexcept {
  // The caller may hold the replies of all connections.
  version_ = std::max(version_, version);
  last_seen_ = std::max(last_seen_, version);
}

bool session::wait_for_changes() noexcept {
  if (is_together_) return false;
  version_ = std::max(version_, last_change_);
  if (client.is_durable) version_ = std::max(version_, last_seen_);
  waits_ = true;
  return true;
}

void session::set_durable(bool is_durable) {
  client.is_durable = is_durable;
  if (is_durable) waits_ = true;
}

void session::end_transaction() { transaction = {}; }

void session::reset() {
  end_transaction();
  client = {};
  client.is_authenticated = options_.password.empty();
  out.set_protocol(2);
}

bool session::authenticate(std::string_view user, std::string_view password) {
  const bool is_user = user == "default";
  const bool is_right = options_.password.empty() || is_same_secret(password, options_.password);
  if (is_user && is_right) {
    client.is_authenticated = true;
    return true;
  }
  out.error(error_texts::wrong_password);
  return false;
}

std::uint64_t session::next_random() noexcept {
  random_ += 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(now_ms_);
  std::uint64_t mixed = (random_ ^ (random_ >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31U);
}

}  // namespace outlast::server::resp

namespace outlast::server {

std::unique_ptr<conversation> make_resp_conversation(item_space& space, const resp_options& options,
                                                     resp_counters& counters,
                                                     const resp_ends& ends) {
  return std::make_unique<resp::session>(space, options, counters, ends);
}

}  // namespace outlast::server
