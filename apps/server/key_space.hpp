// The data of the server: a cache in the file of a pool, or a store in a directory, with the thread
// that removes what has expired.
#pragma once

#include <outlast/server/items.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace outlast::apps {

struct cache_settings {
  std::string file;
  std::uint64_t limit_bytes = std::uint64_t{1} << 30;  ///< of items
  bool evicts = true;  ///< false: a full cache refuses items instead
  std::chrono::microseconds epoch_length{10'000};
};

/// The items of a server, in an open file. Thread-safety: all members but close() may be called
/// concurrently.
class key_space {
 public:
  virtual ~key_space() = default;
  [[nodiscard]] virtual server::item_space& items() = 0;
  /// Lets the token become durable early. Waits for nothing.
  virtual void hasten(server::token wanted) = 0;
  /// Returns true if the device has failed: no token becomes durable any more.
  [[nodiscard]] virtual bool has_failed() const = 0;
  /// Copies the data of one moment to `path` while other threads use it. The copy has all changes
  /// that were complete before the call, and is durable at return. Calls `look` occasionally; its
  /// exceptions end the call. Returns figures for the log. Requires: `path` does not exist. Throws
  /// std::runtime_error, std::bad_alloc; then there is no copy.
  virtual std::string backup(const std::string& path, const std::function<void()>& look) = 0;
  /// Returns about the number of bytes of a backup.
  [[nodiscard]] virtual std::uint64_t backup_bytes() const = 0;
  /// Makes all changes durable, and closes the file. Requires: no other call during or after it.
  /// Throws outlast::error.
  virtual void close() = 0;
};

/// Opens or creates the cache. Throws outlast::error, std::bad_alloc, std::system_error.
[[nodiscard]] std::unique_ptr<key_space> open_cache(const cache_settings& wanted);

/// Opens or creates the store in a directory. Throws outlast::error, std::bad_alloc,
/// std::system_error.
[[nodiscard]] std::unique_ptr<key_space> open_store(const std::string& directory);

/// Returns the milliseconds since 1970.
[[nodiscard]] inline std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace outlast::apps
