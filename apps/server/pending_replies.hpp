// The replies of a connection that are not sent yet, in the order of their requests.
#pragma once

#include <outlast/server/items.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::apps {

/// A reply can wait until its token is durable. Later replies then wait for it, because a client
/// takes replies in order. Thread-safety: one thread at a time.
class pending_replies {
 public:
  static constexpr std::size_t batch_bytes = std::size_t{256} << 10;

  /// Adds replies. `waits`: they must not be sent before `version` is durable. Throws
  /// std::bad_alloc.
  void add(std::string_view bytes, server::token version, bool waits) {
    if (bytes.empty() && !waits) return;
    // A string that grows without bound has up to twice its bytes of memory.
    const bool joins = !waits && !parts_.empty() && parts_.back().bytes.size() < batch_bytes;
    if (!joins) parts_.push_back({{}, waits ? version : 0});
    parts_.back().bytes.append(bytes);
    bytes_ += bytes.size();
  }
  /// Moves what may be sent to the end of `to`, until that has a batch. Returns the number of bytes
  /// that were moved. Throws std::bad_alloc.
  std::size_t take(server::token durable, std::string& to) {
    const std::size_t before = to.size();
    while (!waits(durable) && !parts_.empty() && to.size() < batch_bytes) {
      std::string& first = parts_.front().bytes;
      if (to.empty()) {
        to.swap(first);
      } else {
        to.append(first);
      }
      parts_.pop_front();
    }
    bytes_ -= to.size() - before;
    return to.size() - before;
  }
  /// Returns whether the first reply waits for more than `durable`.
  [[nodiscard]] bool waits(server::token durable) const {
    return !parts_.empty() && parts_.front().version > durable;
  }
  /// Returns the token for which the first reply waits, or nothing.
  [[nodiscard]] std::optional<server::token> awaited() const {
    if (parts_.empty()) return std::nullopt;
    return parts_.front().version;
  }
  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct part {
    std::string bytes;
    server::token version;  ///< 0: does not wait
  };

  std::deque<part> parts_;
  std::size_t bytes_ = 0;
};

}  // namespace outlast::apps
