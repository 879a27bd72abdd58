// A store of keys and values as db_bench sees it: the seam between its loop and the engines.
#pragma once

#include <bench/db_bench/settings.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::bench {

/// A place among the keys of one moment. Used by one thread. Moves say whether they ended at a key;
/// what key() and value() return is valid until the next one.
class place {
 public:
  place() = default;
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  virtual ~place() = default;

  virtual bool to_first() = 0;
  virtual bool to_last() = 0;
  /// To the first key that is not less than `key`.
  virtual bool to(std::string_view key) = 0;
  virtual bool to_next() = 0;
  virtual bool to_previous() = 0;
  [[nodiscard]] virtual std::string_view key() const = 0;
  [[nodiscard]] virtual std::string_view value() const = 0;
};

struct key_and_value {
  std::string_view key;
  std::string_view value;
};

/// What one thread has of a store. Ends before it.
class session {
 public:
  session() = default;
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  virtual ~session() = default;

  virtual void put(std::string_view key, std::string_view value) = 0;
  /// All at once.
  virtual void put_all(std::span<const key_and_value> entries) = 0;
  virtual void erase(std::string_view key) = 0;
  /// False, and the value is anything, if there is none.
  virtual bool get(std::string_view key, std::string& value) = 0;
  [[nodiscard]] virtual std::unique_ptr<place> iterate() = 0;
};

/// An open store. Closed by its destruction.
/// Thread-safety: connect() may be called concurrently. Errors: members throw std::runtime_error.
class store {
 public:
  store() = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  virtual ~store() = default;

  /// Shall writes be durable at return, as the store understands it? While nobody writes.
  virtual void sync_each_write(bool wanted) = 0;
  [[nodiscard]] virtual std::unique_ptr<session> connect() = 0;
  /// Tidies up all that the store can.
  virtual void compact() = 0;
  /// What the store says about itself.
  [[nodiscard]] virtual std::string describe() = 0;
  /// Bytes of one copy of the data with what is added to them; 0: the store does not say.
  [[nodiscard]] virtual std::uint64_t data_bytes() { return 0; }
};

/// A store that can be driven.
struct engine {
  std::string_view name;
  /// With the library's version.
  std::string version;
  /// Opens the store in settings.directory, or makes one. Throws std::runtime_error.
  std::unique_ptr<store> (*open)(const store_settings& settings);
  /// Removes what the store has in that directory; nothing if there is none.
  void (*destroy)(const store_settings& settings);
  /// False: a hash map, which cannot be walked through.
  bool is_ordered = true;
};

// One for each; those of others' libraries where these were installed.
[[nodiscard]] engine outlast_engine();
[[nodiscard]] engine outlast_records_engine();
[[nodiscard]] engine leveldb_engine();
[[nodiscard]] engine rocksdb_engine();
[[nodiscard]] engine lmdb_engine();
[[nodiscard]] engine libpmemobj_engine();
// Hash maps that keep nothing.
[[nodiscard]] engine tbb_engine();
[[nodiscard]] engine unordered_map_engine();
/// Keeps nothing and finds nothing: what remains is the loop.
[[nodiscard]] engine null_engine();

/// Those of this build; ours are the first.
[[nodiscard]] const std::vector<engine>& engines();
/// Throws std::runtime_error, and says which there are.
[[nodiscard]] const engine& find_engine(std::string_view name);

}  // namespace outlast::bench
