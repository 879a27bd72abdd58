// A connection that uses memcached's binary protocol.
//
// Requests are read in binary_conversation.cpp and executed in binary_commands.cpp.
#pragma once

#include <outlast/server/memcached.hpp>
#include <src/server/memcached/binary_format.hpp>
#include <src/server/memcached/item_commands.hpp>
#include <src/server/memcached/meta_flags.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::server::memcached {

class binary_conversation final : public conversation, private item_commands {
 public:
  binary_conversation(item_space& space, const memcached_options& options,
                      memcached_counters& counters)
      : item_commands(space, options, counters), is_authenticated_(options.password.empty()) {}

  fed feed(std::string_view bytes, std::int64_t now_ms, std::string& replies) override;

 private:
  /// The part of a request that the next bytes are: extras and key are the front.
  enum class phase : std::uint8_t { head, front, value, swallow };

  // binary_conversation.cpp
  std::size_t take(std::string_view bytes);
  template <class Use>
  void gather(std::string_view& bytes, std::size_t needed, Use&& use);
  void run_head(std::string_view head);
  void run_front(std::string_view front);
  void run_value(std::string_view value);
  void expect_value();
  void swallow(std::size_t size) noexcept {
    left_ = size;
    phase_ = size == 0 ? phase::head : phase::swallow;
  }
  template <class Work>
  void run_guarded(Work&& work);

  void reply(const binary_reply& one) { add_reply(*out_, head_, one); }
  void reply(status result) { reply({.result = result, .value = text_of(result)}); }
  void reply_success(std::uint64_t unique = 0) {
    if (!info_.is_quiet) reply({.unique = unique});
  }
  [[nodiscard]] std::string_view front() const noexcept {
    return {front_.data(), head_.front_bytes()};
  }
  [[nodiscard]] std::string_view key() const noexcept { return front().substr(head_.extras_bytes); }
  template <class Number>
  [[nodiscard]] Number extra(std::size_t at) const noexcept {
    return big_endian<Number>(front(), at);
  }
  /// Returns the time that the extras have at an offset.
  [[nodiscard]] std::int64_t expiry_at(std::size_t at) const noexcept;

  // binary_commands.cpp
  void execute();
  void run_get();
  void run_touch();
  void add_item(const item& found, bool has_value);
  void add_miss();
  void run_store(std::string_view value);
  void run_remove();
  void run_count();
  void run_flush();
  void run_stat();
  void run_authenticate(std::string_view message);

  bool is_authenticated_;
  phase phase_ = phase::head;
  std::string kept_;  ///< what has arrived of the head, the front or the value, if it is cut
  request_head head_;
  opcode_info info_;
  std::array<char, max_extras_bytes + max_key_bytes> front_;
  store_request request_;  ///< of the value that is read
  std::size_t left_ = 0;   ///< bytes to discard
};

}  // namespace outlast::server::memcached
