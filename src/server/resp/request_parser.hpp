// Requests of RESP: arrays of bulk strings, and lines of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {

using arguments = std::span<const std::string_view>;

/// Bounds of a request, as they are for the client at present.
struct request_limits {
  std::size_t bulk_bytes;
  std::size_t arguments;
  std::size_t inline_bytes;
  std::size_t request_bytes;
  std::size_t allowed_bulk_bytes;  ///< for a client that may have to authenticate first
  std::size_t allowed_arguments;
};

/// Finds requests in the bytes that arrive. The arguments of a request that is whole in the input
/// are views into it. The parts of other requests are copied as they arrive, thus the buffer has
/// the size of the bytes that have arrived, not of those that were announced.
class request_parser {
 public:
  enum class outcome {
    incomplete,  ///< the bytes from `at` on must be passed again, with more
    nothing,     ///< an empty line or array was taken
    request,     ///< words() has a request
    failed       ///< the bytes are no request; failure() has the text of the error
  };

  /// Takes bytes from `at` on, at most one request, and moves `at` behind them.
  outcome next(std::string_view bytes, std::size_t& at, const request_limits& limits);
  /// Returns the request. The views are valid while the input is, until release().
  [[nodiscard]] arguments words() const noexcept { return words_; }
  [[nodiscard]] std::string_view failure() const noexcept { return failure_; }
  /// Returns the bytes of a request that has not arrived completely.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_.size(); }
  /// Forgets the request, and frees memory that only long requests need.
  void release();

 private:
  struct place {
    std::size_t begin;
    std::size_t size;
  };

  outcome fail(std::string text);
  outcome next_line(std::string_view bytes, std::size_t& at, const request_limits& limits);
  outcome begin_array(std::string_view bytes, std::size_t& at, const request_limits& limits);
  outcome begin_bulk(std::string_view bytes, std::size_t& at, const request_limits& limits);
  outcome take_bulk(std::string_view bytes, std::size_t& at);
  bool split(std::string_view line);
  bool read_quoted(std::string_view line, std::size_t& at);
  void hold();
  void use_held();

  std::vector<std::string_view> words_;
  std::string held_;           ///< copied arguments
  std::vector<place> places_;  ///< of the arguments in held_
  std::string failure_;
  std::size_t left_ = 0;  ///< arguments of the array that are still to come
  std::size_t bulk_ = 0;  ///< size of the argument that is being read
  std::size_t missing_ =
      0;                  ///< its bytes that are still to come, with the line's end; 0: no size yet
  bool is_held_ = false;  ///< the arguments are in held_, not in words_
};

}  // namespace outlast::server::resp
