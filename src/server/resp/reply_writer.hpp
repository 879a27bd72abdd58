// Replies in RESP2 and RESP3.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::server::resp {

/// Adds replies to a string. A reply that makes the string longer than the limit is not added; the
/// caller then ends the connection.
class reply_writer {
 public:
  explicit reply_writer(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void begin(std::string& replies) noexcept { text_ = &replies; }
  void set_protocol(int version) noexcept { is_3_ = version == 3; }
  [[nodiscard]] int protocol() const noexcept { return is_3_ ? 3 : 2; }
  [[nodiscard]] bool is_full() const noexcept { return is_full_; }
  [[nodiscard]] std::size_t size() const noexcept { return text_->size(); }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_; }
  /// Removes the replies after the first `size` bytes.
  void cut(std::size_t size) { text_->resize(size); }

  void ok() { add("+OK\r\n"); }
  void simple(std::string_view text) { line('+', text); }
  /// Adds an error. Line breaks become blanks, but not those at the end, which are removed.
  void error(std::string_view text) {
    ++errors_;
    text = text.substr(0, text.find_last_not_of("\r\n") + 1);  // as Redis
    const std::size_t began = text_->size();
    line('-', text);
    for (std::size_t at = began; at + 2 < text_->size(); ++at) {
      char& letter = (*text_)[at];
      if (letter == '\r' || letter == '\n') letter = ' ';
    }
  }
  void integer(std::int64_t number) { head(':', number); }
  void bulk(std::string_view bytes) {
    if (!has_room(bytes.size() + 32)) return;
    head('$', static_cast<std::int64_t>(bytes.size()));
    text_->append(bytes).append("\r\n");
  }
  void null() { add(is_3_ ? "_\r\n" : "$-1\r\n"); }
  void null_array() { add(is_3_ ? "_\r\n" : "*-1\r\n"); }
  void array(std::size_t size) { head('*', static_cast<std::int64_t>(size)); }
  void set(std::size_t size) { head(is_3_ ? '~' : '*', static_cast<std::int64_t>(size)); }
  /// Begins a map. In RESP2 it is an array of keys and values.
  void map(std::size_t pairs) {
    head(is_3_ ? '%' : '*', static_cast<std::int64_t>(is_3_ ? pairs : 2 * pairs));
  }
  /// Adds a number whose text is made already. In RESP2 it is a bulk string.
  void real(std::string_view text) {
    if (!is_3_) return bulk(text);
    line(',', text);
  }
  /// Adds a text for people. In RESP2 it is a bulk string.
  void verbatim(std::string_view text) {
    if (!is_3_) return bulk(text);
    if (!has_room(text.size() + 32)) return;
    head('=', static_cast<std::int64_t>(text.size() + 4));
    text_->append("txt:").append(text).append("\r\n");
  }

 private:
  bool has_room(std::size_t bytes) noexcept {
    if (text_->size() + bytes > limit_bytes_) is_full_ = true;
    return !is_full_;
  }
  void add(std::string_view bytes) {
    if (has_room(bytes.size())) text_->append(bytes);
  }
  void line(char kind, std::string_view text) {
    if (!has_room(text.size() + 3)) return;
    text_->push_back(kind);
    text_->append(text).append("\r\n");
  }
  void head(char kind, std::int64_t number) {
    std::array<char, 24> digits;
    digits[0] = kind;
    char* const end = std::to_chars(digits.data() + 1, digits.data() + digits.size(), number).ptr;
    end[0] = '\r';
    end[1] = '\n';
    add(std::string_view(digits.data(), static_cast<std::size_t>(end + 2 - digits.data())));
  }

  std::string* text_ = nullptr;
  std::size_t limit_bytes_;
  std::uint64_t errors_ = 0;
  bool is_3_ = false;
  bool is_full_ = false;
};

}  // namespace outlast::server::resp
