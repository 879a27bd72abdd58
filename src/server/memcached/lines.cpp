// Cuts the bytes of a connection into lines and values, and executes them.
#include <src/server/memcached/text_conversation.hpp>

#include <algorithm>

namespace outlast::server::memcached {

namespace {

/// Returns whether a line is of a command with any number of keys. Reads only the bytes that are
/// there when a line that is cut becomes too long, so that a line that arrives whole is not
/// accepted if its beginning would be refused.
bool has_many_keys(std::string_view line, std::size_t max_line_bytes) noexcept {
  const std::string_view name = words(line.substr(0, max_line_bytes + 1)).next();
  return name == "get" || name == "gets" || name == "gat" || name == "gats" || name == "bget";
}

}  // namespace

fed text_conversation::feed(std::string_view bytes, std::int64_t now_ms, std::string& replies) {
  begin_call(now_ms, replies);
  std::size_t at = 0;
  while (!result_.closes && (at < bytes.size() || line_is_whole_)) {
    const std::string_view rest = bytes.substr(at);
    if (phase_ == phase::line) {
      at += take_line(rest);
    } else {
      at += phase_ == phase::value ? take_value(rest) : take_swallowed(rest);
    }
    if (replies_are_long() && at < bytes.size()) result_.pauses = true;
    if (result_.pauses) break;
  }
  return end_call(result_.closes ? bytes.size() : at);
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
  if (!has_many_keys(line_, options_.max_line_bytes) ||
      more.size() > room(options_.max_keys_line_bytes)) {
    result_.closes = true;
    return;
  }
  line_.append(more);
}

void text_conversation::run_line(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.size() > options_.max_line_bytes) {
    if (!has_many_keys(line, options_.max_line_bytes) ||
        line.size() > options_.max_keys_line_bytes) {
      result_.closes = true;
      return;
    }
  }
  line = line.substr(0, line.find('\0'));  // as in memcached
  is_quiet_ = false;
  run_guarded([&] { execute(line); });
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
void text_conversation::run_guarded(Work&& work) {
  const bool has_paused = resumes_at_ != 0;
  guarded(work, [&](failure_kind kind, std::string_view text) {
    fail(kind == failure_kind::no_memory ? std::string(no_memory)
                                         : std::string("SERVER_ERROR ").append(text),
         has_paused);
  });
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
    remove_outdated(key);
  }
  answer("SERVER_ERROR object too large for cache");
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
  run_guarded([&] {
    if (!value_and_end.ends_with("\r\n")) return answer("CLIENT_ERROR bad data chunk");
    value_and_end.remove_suffix(2);
    std::uint64_t unique = 0;
    const store_outcome outcome = store(stored_key(), request_, value_and_end, unique);
    if (is_meta_) return meta_stored(outcome, unique);
    switch (outcome) {
      case store_outcome::stored: return answer("STORED");
      case store_outcome::not_stored: return answer("NOT_STORED");
      case store_outcome::exists: return answer("EXISTS");
      case store_outcome::not_found: return answer("NOT_FOUND");
    }
  });
}

}  // namespace outlast::server::memcached
