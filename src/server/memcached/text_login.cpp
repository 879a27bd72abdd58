#include <src/server/memcached/text_login.hpp>

#include <src/server/memcached/text.hpp>
#include <src/server/secret.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace outlast::server::memcached {

namespace {

fed login_refused(std::string_view bytes, std::string_view error, std::string& replies) {
  if (!error.empty()) replies.append(error).append("\r\n");
  fed done{.taken = bytes.size()};
  done.closes = true;
  return done;
}

/// Returns the length of the value that follows a line, or nothing if the line is another request.
std::optional<std::size_t> login_bytes(std::string_view line, std::size_t max_bytes) noexcept {
  const arguments of(line);
  if (of.of[0] != "set" || of.count < 5) return std::nullopt;
  const std::optional<std::int32_t> size = signed32_of(of.of[4]);
  if (!size || *size < 0 || static_cast<std::size_t>(*size) > max_bytes) return std::nullopt;
  return static_cast<std::size_t>(*size);
}

}  // namespace

fed text_login::feed(std::string_view bytes, std::string& replies) {
  const std::size_t before = request_.size();
  const std::size_t max_request_bytes = 2 * (options_.max_line_bytes + 2);
  request_.append(bytes.substr(0, max_request_bytes - before));
  const std::size_t end = request_.find('\n');
  std::string_view line = std::string_view(request_).substr(0, end);
  if (end != std::string::npos && line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t incomplete = end == std::string::npos ? 1 : 0;  // a \r may be the last byte
  if (line.size() > options_.max_line_bytes + incomplete) return login_refused(bytes, "", replies);
  if (end == std::string::npos) return {.taken = bytes.size()};

  const std::optional<std::size_t> size = login_bytes(line, options_.max_line_bytes);
  if (!size) return login_refused(bytes, "CLIENT_ERROR unauthenticated", replies);
  const std::size_t request_bytes = end + 1 + *size + 2;
  if (request_.size() < request_bytes) return {.taken = bytes.size()};
  const std::string_view reply =
      verdict(std::string_view(request_).substr(end + 1, request_bytes - end - 1));
  if (!has_succeeded_) return login_refused(bytes, reply, replies);
  replies.append(reply).append("\r\n");
  return {.taken = request_bytes - before};
}

std::string_view text_login::verdict(std::string_view value_and_end) {
  constexpr std::string_view bad_token = "CLIENT_ERROR bad authentication token format";
  if (!value_and_end.ends_with("\r\n")) return bad_token;
  value_and_end.remove_suffix(2);
  words parts(value_and_end);
  const std::string_view name = parts.next();
  // The password can have blanks. Those before it are not a part of it.
  const std::size_t password = value_and_end.find_first_not_of(' ', parts.at());
  if (name.empty() || password == std::string_view::npos) return bad_token;
  has_succeeded_ = is_same_secret(value_and_end.substr(password), options_.password);
  return has_succeeded_ ? "STORED" : "CLIENT_ERROR authentication failure";
}

}  // namespace outlast::server::memcached
