// The classic commands of memcached.
#include <src/server/memcached/text_conversation.hpp>

namespace outlast::server::memcached {

namespace {

constexpr std::string_view bad_time = "CLIENT_ERROR invalid exptime argument";

}  // namespace

const std::array<text_conversation::command, 18> text_conversation::commands = {{
    {"set", 5, 6, &text_conversation::run_set},
    {"add", 5, 6, &text_conversation::run_add},
    {"replace", 5, 6, &text_conversation::run_replace},
    {"append", 5, 6, &text_conversation::run_append},
    {"prepend", 5, 6, &text_conversation::run_prepend},
    {"cas", 6, 7, &text_conversation::run_cas},
    {"incr", 3, 4, &text_conversation::run_incr},
    {"decr", 3, 4, &text_conversation::run_decr},
    {"touch", 3, 4, &text_conversation::run_touch},
    {"delete", 2, 4, &text_conversation::run_delete},
    {"flush_all", 1, 3, &text_conversation::run_flush_all},
    {"stats", 1, arguments::kept, &text_conversation::run_stats},
    {"version", 1, arguments::kept, &text_conversation::run_version},
    {"verbosity", 2, 3, &text_conversation::run_verbosity},
    {"cache_memlimit", 2, 3, &text_conversation::run_cache_memlimit},
    {"quit", 1, arguments::kept, &text_conversation::run_quit},
    {"shutdown", 1, arguments::kept, &text_conversation::run_shutdown},
    {"durable", 2, 2, &text_conversation::run_durable},
}};

/// Adds the items of all keys to the replies. Pauses if the replies become long.
template <class Show>
void text_conversation::show_items(std::string_view line, words keys, Show&& show) {
  if (resumes_at_ != 0) keys = words(line, resumes_at_);
  resumes_at_ = 0;
  const auto is_bad = [](std::string_view key) { return key.size() > max_key_bytes; };
  for (std::string_view key = keys.next(); !key.empty(); key = keys.next()) {
    bool stops = is_bad(key);
    if (!stops) {
      show(key);
      if (out_->size() - first_reply_ < options_.max_replies_bytes) continue;
      words others = keys;
      std::string_view other = others.next();
      while (!other.empty() && !is_bad(other)) other = others.next();
      stops = !other.empty();
    }
    if (stops) {
      out_->resize(mark_);
      return answer(bad_format);
    }
    resumes_at_ = keys.at();
    result_.pauses = true;
    return;
  }
  answer("END");
}

void text_conversation::get_items(std::string_view line, words keys, bool has_unique) {
  if (words(keys).next().empty()) return answer("ERROR");
  show_items(line, keys, [&](std::string_view key) {
    get_item(key, [&](const item& found) { add_value(key, found, has_unique); });
  });
}

void text_conversation::touch_items(std::string_view line, words keys, bool has_unique) {
  const std::string_view time = keys.next();
  if (time.empty()) return answer("ERROR");
  const std::optional<std::int32_t> seconds = signed32_of(time);
  if (!seconds) return answer(bad_time);
  show_items(line, keys, [&](std::string_view key) {
    get_and_touch_item(key, expiry_of(*seconds, now_ms_),
                       [&](const item& found) { add_value(key, found, has_unique); });
  });
}

void text_conversation::add_value(std::string_view key, const item& found, bool has_unique) {
  std::string& out = *out_;
  out.append("VALUE ").append(key);
  out += ' ';
  add_number(out, found.flags);
  out += ' ';
  add_number(out, found.value.size());
  if (has_unique) {
    out += ' ';
    add_number(out, found.unique);
  }
  out.append("\r\n").append(found.value).append("\r\n");
}

void text_conversation::begin_store(const arguments& of, store_mode mode) {
  read_quiet(of);
  const std::string_view key = of.of[1];
  const std::optional<std::uint32_t> flags = unsigned32_of(of.of[2]);
  const std::optional<std::int32_t> seconds = signed32_of(of.of[3]);
  const std::optional<std::int32_t> size = signed32_of(of.of[4]);
  constexpr std::int32_t max_size = std::numeric_limits<std::int32_t>::max() - 2;
  if (key.size() > max_key_bytes || !flags || !seconds || !size || *size < 0 || *size > max_size) {
    return answer(bad_format);
  }
  request_ = {.mode = mode, .flags = *flags, .expires_ms = expiry_of(*seconds, now_ms_)};
  if (of.of[0] == "cas") {
    request_.expected = unsigned_of(of.of[5]);
    if (!request_.expected) return answer(bad_format);
  }
  key_.assign(key);
  is_meta_ = false;
  expect_value(static_cast<std::size_t>(*size), of.of[0] == "set");
}

void text_conversation::run_count(const arguments& of, bool decreases) {
  read_quiet(of);
  if (of.of[1].size() > max_key_bytes) return answer(bad_format);
  const std::optional<std::uint64_t> delta = unsigned_of(of.of[2]);
  if (!delta) return answer("CLIENT_ERROR invalid numeric delta argument");
  const count_result result =
      count_item({.key = of.of[1], .delta = *delta, .decreases = decreases});
  switch (result.outcome) {
    case count_outcome::counted:
    case count_outcome::created: return answer(decimal(result.value).text());
    case count_outcome::not_a_number: return answer(not_numeric);
    case count_outcome::exists:
    case count_outcome::not_found: return answer("NOT_FOUND");
  }
}

void text_conversation::run_touch(const arguments& of) {
  read_quiet(of);
  if (of.of[1].size() > max_key_bytes) return answer(bad_format);
  const std::optional<std::int32_t> seconds = signed32_of(of.of[2]);
  if (!seconds) return answer(bad_time);
  const bool is_there = touch_item(of.of[1], expiry_of(*seconds, now_ms_), [](const item&) {});
  answer(is_there ? "TOUCHED" : "NOT_FOUND");
}

/// Removes an item. Old clients send a time after the key, which must be 0.
void text_conversation::run_delete(const arguments& of) {
  if (of.count > 2) {
    read_quiet(of);
    const bool has_zero = of.of[2] == "0";
    const bool is_valid = of.count == 3 ? has_zero || is_quiet_ : has_zero && is_quiet_;
    if (!is_valid) {
      return answer(
          "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");  // memcached's
    }
  }
  if (of.of[1].size() > max_key_bytes) return answer(bad_format);
  const remove_outcome outcome = remove_item(of.of[1], {});
  answer(outcome == remove_outcome::removed ? "DELETED" : "NOT_FOUND");
}

void text_conversation::run_flush_all(const arguments& of) {
  read_quiet(of);
  std::int64_t from_ms = now_ms_;
  if (of.count > (is_quiet_ ? 2U : 1U)) {
    const std::optional<std::int32_t> seconds = signed32_of(of.of[1]);
    if (!seconds) return answer(bad_time);
    from_ms = expiry_of(*seconds, now_ms_);
  }
  flush_items(from_ms);
  answer("OK");
}

void text_conversation::run_stats(const arguments& of) {
  flush_counts();
  const auto add = [this](std::string_view name, std::string_view value) {
    out_->append("STAT ").append(name);
    *out_ += ' ';
    out_->append(value).append("\r\n");
  };
  const std::string_view what = of.count > 1 ? of.of[1] : std::string_view();
  if (of.count == 1) {
    general_stats(add);
  } else if (what == "settings") {
    settings_stats("ascii", add);
  } else if (what == "items") {
    item_stats(add);
  } else if (what == "slabs") {
    slab_stats(add);
  } else if (what == "sizes") {
    add("sizes_status", "disabled");
  } else if (what == "reset") {
    counters_.reset();
    return answer("RESET");
  } else if (what == "detail") {
    return run_stats_detail(of);
  } else if (what == "cachedump" && of.count < 4) {
    return answer("CLIENT_ERROR bad command line");
  } else if (what != "conns" && what != "extstore" && what != "cachedump") {
    return answer("ERROR");
  }
  answer("END");
}

/// Accepts the commands for counts of key prefixes. No such counts exist, because clients choose
/// the number of prefixes.
void text_conversation::run_stats_detail(const arguments& of) {
  const std::string_view what = of.count > 2 ? of.of[2] : std::string_view();
  if (what == "dump") return answer("END");
  answer(what == "on" || what == "off" ? "OK" : "CLIENT_ERROR usage: stats detail on|off|dump");
}

void text_conversation::run_version(const arguments&) {
  out_->append("VERSION ").append(options_.version).append("\r\n");
}

/// Accepts a level of logging. The conversation logs nothing.
void text_conversation::run_verbosity(const arguments& of) {
  read_quiet(of);
  answer(unsigned_of(of.of[1]) ? "OK" : bad_format);
}

void text_conversation::run_cache_memlimit(const arguments& of) {
  constexpr std::uint64_t least_megabytes = 8;
  constexpr std::uint64_t most_megabytes = 1'000'000'000;
  read_quiet(of);
  const std::optional<std::uint64_t> megabytes = unsigned_of(of.of[1]);
  if (!megabytes) return answer("ERROR");
  if (*megabytes > most_megabytes) {
    return answer("MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes");
  }
  if (*megabytes < least_megabytes) {
    return answer("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m");
  }
  answer(space_.set_limit_bytes(*megabytes << 20) ? "OK"
                                                  : "SERVER_ERROR the cache does not evict items");
}

void text_conversation::run_quit(const arguments&) { result_.closes = true; }

void text_conversation::run_shutdown(const arguments& of) {
  if (!options_.shut_down) return answer("ERROR: shutdown not enabled");  // as in memcached
  const bool is_graceful = of.count == 2 && of.of[1] == "graceful";
  if (of.count > 1 && !is_graceful) return answer("CLIENT_ERROR invalid shutdown mode");
  result_.closes = true;
  options_.shut_down(is_graceful);
}

void text_conversation::run_durable(const arguments& of) {
  const std::string_view what = of.of[1];
  if (what != "on" && what != "off" && what != "wait") {
    return answer("CLIENT_ERROR usage: durable on|off|wait");
  }
  if (what != "wait") is_durable_ = what == "on";
  if (what != "off") result_.waits = true;
  answer("OK");
}

}  // namespace outlast::server::memcached
