// Requests of RESP: arrays of bulk strings, and lines of words.
#include <src/server/resp/request_parser.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace outlast::server::resp {
namespace {

constexpr std::size_t none = std::string_view::npos;
constexpr std::size_t kept_bytes = std::size_t{64} << 10;
constexpr std::size_t kept_words = 1024;

bool is_blank(char letter) noexcept { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }

int hex_digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const char small = lower(letter);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// Returns the character that `letter` is after a backslash.
char escaped(char letter) noexcept {
  switch (letter) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return letter;
  }
}

/// Returns the place of the carriage return that ends the line at `at`, if the character after it
/// has arrived as well.
std::size_t end_of_head(std::string_view bytes, std::size_t at) noexcept {
  const std::size_t end = bytes.find('\r', at);
  return end == none || end + 1 >= bytes.size() ? none : end;
}

/// Returns the length of the line at `at`, or of the part that has arrived. A carriage return does
/// not count, so that a line of the maximum length is accepted also if it is cut after it.
std::size_t head_bytes(std::string_view bytes, std::size_t at) noexcept {
  return std::min(bytes.find('\r', at), bytes.size()) - at;
}

}  // namespace

request_parser::outcome request_parser::fail(std::string text) {
  failure_ = "ERR Protocol error: " + std::move(text);
  return outcome::failed;
}

void request_parser::release() {
  words_.clear();
  places_.clear();
  held_.clear();
  is_held_ = false;
  if (held_.capacity() > kept_bytes) std::string().swap(held_);
  if (words_.capacity() > kept_words) std::vector<std::string_view>().swap(words_);
  if (places_.capacity() > kept_words) std::vector<place>().swap(places_);
}

/// Copies the arguments, because the rest of the request arrives in another call.
void request_parser::hold() {
  if (is_held_) return;
  is_held_ = true;
  for (const std::string_view word : words_) {
    places_.push_back({held_.size(), word.size()});
    held_.append(word);
  }
  words_.clear();
}

void request_parser::use_held() {
  words_.reserve(places_.size());
  for (const place& each : places_) {
    words_.push_back(std::string_view(held_).substr(each.begin, each.size));
  }
}

request_parser::outcome request_parser::next(std::string_view bytes, std::size_t& at,
                                             const request_limits& limits) {
  if (left_ == 0) {
    release();
    if (at == bytes.size()) return outcome::incomplete;
    if (bytes[at] != '*') return next_line(bytes, at, limits);
    const outcome begun = begin_array(bytes, at, limits);
    if (begun != outcome::request) return begun;
  }
  while (left_ > 0) {
    if (missing_ == 0) {
      const outcome begun = begin_bulk(bytes, at, limits);
      if (begun != outcome::request) return begun;
    }
    const outcome taken = take_bulk(bytes, at);
    if (taken != outcome::request) return taken;
  }
  if (is_held_) use_held();
  return outcome::request;
}

/// Takes the head of an array. Returns `request` if its arguments follow.
request_parser::outcome request_parser::begin_array(std::string_view bytes, std::size_t& at,
                                                    const request_limits& limits) {
  const std::size_t end = end_of_head(bytes, at);
  const std::size_t size = head_bytes(bytes, at);
  if (size > limits.inline_bytes) return fail("too big mbulk count string");
  if (end == none) return outcome::incomplete;
  const std::optional<std::int64_t> count = integer_of(bytes.substr(at + 1, size - 1));
  if (!count || *count > static_cast<std::int64_t>(limits.arguments)) {
    return fail("invalid multibulk length");
  }
  if (*count > static_cast<std::int64_t>(limits.allowed_arguments)) {
    return fail("unauthenticated multibulk length");
  }
  at = end + 2;
  if (*count <= 0) return outcome::nothing;
  left_ = static_cast<std::size_t>(*count);
  return outcome::request;
}

/// Takes the head of an argument. Returns `request` if its bytes follow.
request_parser::outcome request_parser::begin_bulk(std::string_view bytes, std::size_t& at,
                                                   const request_limits& limits) {
  const std::size_t end = at < bytes.size() ? end_of_head(bytes, at) : none;
  const std::size_t size = head_bytes(bytes, at);
  if (size > limits.inline_bytes) return fail("too big bulk count string");
  if (end == none) {
    hold();
    return outcome::incomplete;
  }
  if (bytes[at] != '$') return fail(std::string("expected '$', got '") + bytes[at] + "'");
  const std::optional<std::int64_t> count = integer_of(bytes.substr(at + 1, size - 1));
  if (!count || *count < 0 || *count > static_cast<std::int64_t>(limits.bulk_bytes)) {
    return fail("invalid bulk length");
  }
  if (*count > static_cast<std::int64_t>(limits.allowed_bulk_bytes)) {
    return fail("unauthenticated bulk length");
  }
  bulk_ = static_cast<std::size_t>(*count);
  if (is_held_) {
    if (held_.size() + places_.size() * sizeof(place) + bulk_ > limits.request_bytes) {
      return fail("request is longer than " + std::to_string(limits.request_bytes) + " bytes");
    }
    places_.push_back({held_.size(), bulk_});
  }
  at = end + 2;
  missing_ = bulk_ + 2;
  return outcome::request;
}

/// Takes the bytes of an argument, and the two bytes after it.
request_parser::outcome request_parser::take_bulk(std::string_view bytes, std::size_t& at) {
  const std::size_t arrived = bytes.size() - at;
  if (!is_held_ && arrived < missing_) {
    hold();
    places_.push_back({held_.size(), bulk_});
  }
  const std::size_t taken = std::min(arrived, missing_);
  if (is_held_) {
    held_.append(bytes.substr(at, taken));
  } else {
    words_.push_back(bytes.substr(at, bulk_));
  }
  at += taken;
  missing_ -= taken;
  if (missing_ > 0) return outcome::incomplete;
  --left_;
  return outcome::request;
}

request_parser::outcome request_parser::next_line(std::string_view bytes, std::size_t& at,
                                                  const request_limits& limits) {
  const std::size_t end = bytes.find('\n', at);
  if (std::min(end, bytes.size()) - at > limits.inline_bytes) {
    return fail("too big inline request");
  }
  if (end == none) return outcome::incomplete;
  std::string_view line = bytes.substr(at, end - at);
  if (line.ends_with('\r')) line.remove_suffix(1);
  at = end + 1;
  if (!split(line)) return fail("unbalanced quotes in request");
  use_held();
  return words_.empty() ? outcome::nothing : outcome::request;
}

/// Splits a line into words. Returns false if a quote has no end, or no blank after it.
bool request_parser::split(std::string_view line) {
  is_held_ = true;
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && is_blank(line[at])) ++at;
    if (at == line.size()) return true;
    const std::size_t began = held_.size();
    while (at < line.size() && !is_blank(line[at])) {
      if (line[at] == '"' || line[at] == '\'') {
        if (!read_quoted(line, at)) return false;
        break;
      }
      held_.push_back(line[at++]);
    }
    places_.push_back({began, held_.size() - began});
  }
}

/// Adds the quoted part that begins at `at` to held_.
bool request_parser::read_quoted(std::string_view line, std::size_t& at) {
  const char quote = line[at++];
  const bool has_escapes = quote == '"';
  for (; at < line.size() && line[at] != quote; ++at) {
    const std::string_view rest = line.substr(at);
    if (has_escapes && rest.size() >= 4 && rest[0] == '\\' && rest[1] == 'x' &&
        hex_digit(rest[2]) >= 0 && hex_digit(rest[3]) >= 0) {
      held_.push_back(static_cast<char>(hex_digit(rest[2]) * 16 + hex_digit(rest[3])));
      at += 3;
    } else if (has_escapes && rest.size() >= 2 && rest[0] == '\\') {
      held_.push_back(escaped(rest[1]));
      ++at;
    } else if (!has_escapes && rest.starts_with("\\'")) {
      held_.push_back('\'');
      ++at;
    } else {
      held_.push_back(line[at]);
    }
  }
  if (at >= line.size()) return false;
  ++at;
  return at == line.size() || is_blank(line[at]);
}

}  // namespace outlast::server::resp
