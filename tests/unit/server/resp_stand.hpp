// A connection over a key space in ordinary memory, and expectations of its replies.
#pragma once

#include <outlast/server/resp.hpp>

#include <tests/unit/server/resp_fake.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server {

/// Returns a request as an array of bulk strings.
inline std::string resp_request(std::span<const std::string_view> words) {
  std::string made = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words) {
    made.append("$").append(std::to_string(word.size())).append("\r\n");
    made.append(word).append("\r\n");
  }
  return made;
}

/// Returns a command whose words are between blanks as an array of bulk strings.
inline std::string resp_words(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t blank = line.find(' ');
    words.push_back(line.substr(0, blank));
    if (blank == std::string_view::npos) return resp_request(words);
    line.remove_prefix(blank + 1);
  }
}

/// A connection whose caller keeps the bytes that were not taken, as a server does.
class resp_fake_connection {
 public:
  resp_fake_connection(item_space& space, const resp_options& options, resp_counters& counters,
                       const resp_ends& ends = {})
      : talk_(make_resp_conversation(space, options, counters, ends)) {}

  /// Receives bytes in pieces, and returns the replies.
  std::string receive(std::string_view bytes) {
    std::string replies;
    const std::size_t piece = piece_bytes == 0 ? bytes.size() : piece_bytes;
    for (; !bytes.empty() && !last.closes; bytes.remove_prefix(std::min(piece, bytes.size()))) {
      kept_.append(bytes.substr(0, piece));
      do {
        last = talk_->feed(kept_, now_ms, replies);
        kept_.erase(0, last.taken);
        version = std::max(version, last.version);
        waits = waits || last.waits;
        pauses += last.pauses ? 1 : 0;
      } while (last.pauses);
    }
    return replies;
  }
  /// Sends a command whose words are between blanks.
  std::string ask(std::string_view line) { return receive(resp_words(line)); }

  std::size_t piece_bytes = 0;  ///< in which bytes arrive; 0: all together
  std::int64_t now_ms = 1'000'000'000'000;
  fed last;           ///< of the last call
  token version = 0;  ///< the greatest of all calls
  bool waits = false;
  int pauses = 0;
  [[nodiscard]] std::size_t kept_bytes() const { return kept_.size(); }

 private:
  std::unique_ptr<conversation> talk_;
  std::string kept_;
};

/// A space, options, counters and a connection.
class resp_stand {
 public:
  explicit resp_stand(const resp_options& wanted = {}, std::size_t piece_bytes = 0,
                      bool keeps_parts = false)
      : options(wanted) {
    space.keeps_parts = keeps_parts;
    client.piece_bytes = piece_bytes;
  }

  resp_options options;
  resp_fake_items space;
  resp_counters counters;
  resp_fake_connection client{space, options, counters, {"127.0.0.1:5000", "127.0.0.1:6379"}};
};

/// Executes a scenario with input that arrives whole, byte by byte, and in longer pieces.
template <class Scenario>
void resp_for_each_piece(Scenario&& scenario, const resp_options& options = {}) {
  for (const std::size_t piece : {0, 1, 2, 3, 7, 16}) {
    SCOPED_TRACE("pieces of " + std::to_string(piece) + " bytes");
    resp_stand stand(options, piece);
    scenario(stand);
  }
}

/// Expects these replies to an input that arrives whole, byte by byte, and cut in two at every
/// place.
inline void resp_expect(std::string_view input, std::string_view replies,
                        const resp_options& options = {}, bool keeps_parts = false) {
  for (const std::size_t piece : {std::size_t{0}, std::size_t{1}}) {
    resp_stand stand(options, piece, keeps_parts);
    EXPECT_EQ(stand.client.receive(input), replies) << "pieces of " << piece << " bytes";
  }
  for (std::size_t at = 1; at < input.size(); ++at) {
    resp_stand stand(options, 0, keeps_parts);
    std::string parts = stand.client.receive(input.substr(0, at));
    parts += stand.client.receive(input.substr(at));
    ASSERT_EQ(parts, replies) << "cut at " << at;
  }
}

/// A command and its reply, without the end of the last line.
struct resp_exchange {
  std::string_view command;
  std::string_view reply;
};

/// Expects the reply of each command, as resp_expect().
inline void resp_expect_all(std::initializer_list<resp_exchange> exchanges,
                            const resp_options& options = {}, bool keeps_parts = false) {
  std::string input;
  std::string replies;
  for (const resp_exchange& each : exchanges) {
    input += resp_words(each.command);
    replies.append(each.reply).append("\r\n");
  }
  resp_expect(input, replies, options, keeps_parts);
}

/// As resp_expect_all(), in a space whose items have parts.
inline void resp_expect_parts(std::initializer_list<resp_exchange> exchanges,
                              const resp_options& options = {}) {
  resp_expect_all(exchanges, options, true);
}

}  // namespace outlast::server
