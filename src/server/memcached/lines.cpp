// Cuts the bytes of a connection into lines and values, and executes them.
#include <outlast/base/error.hpp>
#include <src/server/memcached/text_conversation.hpp>

#include <algorithm>
#include <new>

namespace outlast::server {

std::unique_ptr<conversation> make_memcached_conversation(item_space& space,
                                                          const memcached_options& options,
                                                          memcached_counters& counters) {
  return std::make_unique<memcached::text_conversation>(space, options, counters);
}

namespace memcached {

namespace {

/// Capacity above which a buffer is freed after its use.
constexpr std::size_t kept_bytes = std::size_t{1} << 14;

void forget(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kept_bytes) buffer.shrink_to_fit();
}

/// Returns whether a line, or its beginning, is of a command with any number of keys.
bool has_many_keys(std::string_view line) noexcept {
  const std::string_view name = words(line).next();
  return name == "get" || name == "gets" || name == "gat" || name == "gats" || name == "bget";
}

/// Returns a text without line breaks, as a part of a reply.
std::string on_one_line(std::string_view text) {
  constexpr std::size_t max_bytes = 512;
  std::string line(text.substr(0, max_bytes));
  std::replace_if(
      line.begin(), line.end(), [](char one) { return static_cast<unsigned char>(one) < ' '; },
      ' ');
  return line;
}

}  // namespace

text_conversation::text_conversation(item_space& space, const memcached_options& options,
                                     memcached_counters& counters)
    : space_(space), options_(options), counters_(counters) {
  counters_.connection_begins();
}

text_conversation::~text_conversation() { counters_.connection_ends(); }

fed text_conversation::feed(std::string_view bytes, std::int64_t now_ms, std::string& replies) {
  out_ = &replies;
  now_ms_ = now_ms;
  first_reply_ = replies.size();
  result_ = {};
  result_.waits = is_durable_;
  // The first byte of the binary protocol. Its requests have no end of a line to wait for.
  if (!has_begun_ && bytes.starts_with('\x80')) result_.closes = true;
  has_begun_ = has_begun_ || !bytes.empty();
  std::size_t at = 0;
  while (!result_.closes && (at < bytes.size() || line_is_whole_)) {
    const std::string_view rest = bytes.substr(at);
    if (phase_ == phase::line) {
      at += take_line(rest);
    } else {
      at += phase_ == phase::value ? take_value(rest) : take_swallowed(rest);
    }
    if (replies.size() - first_reply_ >= options_.max_replies_bytes && at < bytes.size()) {
      result_.pauses = true;
    }
    if (result_.pauses) break;
  }
  result_.taken = result_.closes ? bytes.size() : at;
  if (result_.waits) result_.version = std::max(result_.version, shown_);
  count(event::bytes_read, result_.taken);
  count(event::bytes_written, replies.size() - first_reply_);
  flush_counts();
  return result_;
}

void text_conversation::flush_counts() {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) counters_.add(static_cast<event>(i), counts_[i]);
  }
  counts_ = {};
}

std::size_t text_conversation::take_line(std::string_view bytes) {
  std::size_t taken = 0;
  if (!line_is_whole_) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      extend_line(bytes);
      return bytes.size();
    }
    taken = end + 1;
    if (line_.empty()) {
      run_line(bytes.substr(0, end));
      return result_.pauses ? 0 : taken;
    }
    extend_line(bytes.substr(0, end));
    if (result_.closes) return taken;
  }
  run_line(line_);
  line_is_whole_ = result_.pauses;
  if (!line_is_whole_) forget(line_);
  return taken;
}

/// Adds bytes to a line that is cut. Closes the connection if it is too long, whatever follows.
void text_conversation::extend_line(std::string_view more) {
  const auto room = [this](std::size_t limit) {  // with the \r at the end
    return limit + 1 - std::min(limit + 1, line_.size());
  };
  const std::string_view start = more.substr(0, room(options_.max_line_bytes));
  line_.append(start);
  more.remove_prefix(start.size());
  if (more.empty()) return;
  if (!has_many_keys(line_) || more.size() > room(options_.max_keys_line_bytes)) {
    result_.closes = true;
    return;
  }
  line_.append(more);
}

void text_conversation::run_line(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.size() > options_.max_line_bytes) {
    if (!has_many_keys(line) || line.size() > options_.max_keys_line_bytes) {
      result_.closes = true;
      return;
    }
  }
  line = line.substr(0, line.find('\0'));  // as in memcached
  is_quiet_ = false;
  guarded([&] { execute(line); });
}

void text_conversation::execute(std::string_view line) {
  words rest(line);
  const std::string_view name = rest.next();
  if (name == "get" || name == "bget") return get_items(line, rest, false);
  if (name == "gets") return get_items(line, rest, true);
  if (name.size() == 2 && run_meta(name, rest)) return;
  if (name == "gat" || name == "gats") return touch_items(line, rest, name == "gats");
  const arguments of(line);
  for (const command& one : commands) {
    if (one.name != name) continue;
    if (of.count < one.min_words || of.count > one.max_words) break;
    return (this->*one.run)(of);
  }
  answer("ERROR");
}

/// Does the work of a command. Answers errors of the space as memcached's are.
template <class Work>
void text_conversation::guarded(Work&& work) {
  mark_ = out_->size();
  const bool has_paused = resumes_at_ != 0;
  try {
    work();
  } catch (const out_of_space&) {
    count(event::store_no_memory);
    fail(no_memory, has_paused);
  } catch (const error& problem) {
    const bool is_full = problem.reason() == errc::no_space || problem.reason() == errc::pool_full;
    if (is_full) count(event::store_no_memory);
    fail(is_full ? std::string(no_memory) : "SERVER_ERROR " + on_one_line(problem.what()),
         has_paused);
  }
}

/// Replaces the replies of a command by an error. A part of them may have been sent if the command
/// paused: the connection closes then.
void text_conversation::fail(std::string_view text, bool has_paused) {
  out_->resize(mark_);
  result_.pauses = false;
  result_.closes = has_paused;
  resumes_at_ = 0;
  answer(text);
}

void text_conversation::expect_value(std::size_t size, bool erases_if_too_large) {
  value_bytes_ = size;
  const std::string_view key = stored_key();
  if (item_bytes(key, size, request_.flags) <= options_.max_item_bytes) {
    phase_ = phase::value;
    return;
  }
  swallow(size);
  count(event::store_too_large);
  if (erases_if_too_large) {
    // The client wanted to replace the item: the old value must not be served.
    changed(space_.modify(key, now_ms_, [](const item* old) {
      item_change change;
      if (old != nullptr) change.what = item_change::kind::erase;
      return change;
    }));
  }
  answer("SERVER_ERROR object too large for cache");
}

/// Returns the size that memcached counts for an item, so that the same items fit.
std::size_t text_conversation::item_bytes(std::string_view key, std::size_t value_bytes,
                                          std::uint32_t flags) const noexcept {
  constexpr std::size_t head_bytes = 56;
  constexpr std::size_t end_bytes = 3;  // after the key and the value
  return head_bytes + key.size() + value_bytes + end_bytes + (flags != 0 ? sizeof flags : 0);
}

std::size_t text_conversation::take_value(std::string_view bytes) {
  const std::size_t needed = value_bytes_ + 2;
  if (value_.empty() && bytes.size() >= needed) {
    run_value(bytes.substr(0, needed));
    return needed;
  }
  const std::size_t taken = std::min(bytes.size(), needed - value_.size());
  value_.append(bytes.substr(0, taken));
  if (value_.size() < needed) return taken;
  run_value(value_);
  forget(value_);
  return taken;
}

std::size_t text_conversation::take_swallowed(std::string_view bytes) {
  const std::size_t taken = std::min(bytes.size(), left_);
  left_ -= taken;
  if (left_ == 0) phase_ = phase::line;
  return taken;
}

void text_conversation::run_value(std::string_view value_and_end) {
  phase_ = phase::line;
  guarded([&] {
    if (!value_and_end.ends_with("\r\n")) return answer("CLIENT_ERROR bad data chunk");
    value_and_end.remove_suffix(2);
    std::uint64_t unique = 0;
    const store_outcome outcome = store(value_and_end, unique);
    if (is_meta_) return meta_stored(outcome, unique);
    switch (outcome) {
      case store_outcome::stored: return answer("STORED");
      case store_outcome::not_stored: return answer("NOT_STORED");
      case store_outcome::exists: return answer("EXISTS");
      case store_outcome::not_found: return answer("NOT_FOUND");
    }
  });
}

void text_conversation::changed(const change_result& result) noexcept {
  shown(result.version);
  if (result.changed) result_.version = std::max(result_.version, result.version);
}

}  // namespace memcached

}  // namespace outlast::server
