// A store that a command has opened.
#pragma once

#include <outlast/db/comparator.hpp>
#include <outlast/db/db.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace outlast::apps::db {

/// The cause of the failure of a command.
struct failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws failure unless the status is OK.
void require(const outlast::db::Status& status);
/// Throws failure unless the status of a write is OK. If there is no space, the message has the
/// remedy.
void require_written(const outlast::db::Status& status);

/// The properties of a new store.
struct new_store {
  std::uint64_t capacity_bytes = 0;  ///< StoreOptions::capacity_bytes
  std::string engine;                ///< as --engine names it; "": the default of StoreOptions
};
[[nodiscard]] outlast::db::StoreOptions options_of(const new_store& wanted);

/// An open store, and the order of its keys.
struct store_handle {
  std::unique_ptr<outlast::db::DB> store;
  /// Null if the tool does not have the comparator; cursors then return the keys in their stored
  /// order.
  const outlast::db::Comparator* order = nullptr;

  [[nodiscard]] outlast::db::DB& operator*() const noexcept { return *store; }
  [[nodiscard]] outlast::db::DB* operator->() const noexcept { return store.get(); }
};

/// The use that a command makes of the keys.
enum class reading {
  looks,  ///< searches keys: it requires their order
  walks,  ///< reads all keys in their stored order: requires their order if they have none
  asks,   ///< reads what is known without the keys
};

/// Returns true if a store exists, or the remainder of an interrupted repair.
[[nodiscard]] bool holds_store(const std::string& directory);

/// Opens a store for reading, without changing it. `order`: the value of --comparator. Throws
/// failure, also if the keys are not in that order.
[[nodiscard]] store_handle open_to_read(const std::string& directory, reading how,
                                        const std::string& order);

/// How a command opens a store that it writes to.
enum class opening {
  existing,      ///< the store must exist
  made,          ///< the store is created if it does not exist
  made_or_none,  ///< the store must not exist
};

/// Opens a store for writing. Throws failure without effect. `order`: as above. `order_name`: the
/// name of the comparator of a new store; "": the usual name.
[[nodiscard]] store_handle open_to_write(const std::string& directory, opening how,
                                         const new_store& wanted, const std::string& order,
                                         const std::string& order_name = {});

/// Returns the comparator of an existing store. If the store cannot be read, returns the comparator
/// with the usual name for the order. Throws failure if the tool does not have it.
[[nodiscard]] const outlast::db::Comparator& comparator_in(const std::string& directory,
                                                           const std::string& order);

/// Returns a property of the store as a number.
[[nodiscard]] std::uint64_t number_of(outlast::db::DB& store, const std::string& property);
/// Returns a property of the store as a text.
[[nodiscard]] std::string text_of(outlast::db::DB& store, const std::string& property);

/// The keys from `from` (inclusive) to `to` (exclusive).
struct key_range {
  std::optional<std::string> from;  ///< none: the first key
  std::optional<std::string> to;    ///< none: the end
  std::string prefix;

  /// Limits the range to the keys that begin with `with`.
  void narrow(const std::string& with, const outlast::db::Comparator& order);
};

/// Calls visit(key, value) for at most `limit` keys and returns their number. A limited range
/// requires the order of the store; the range of all keys does not. Throws failure.
std::uint64_t visit(
    const store_handle& store, const key_range& range, bool backwards, std::uint64_t limit,
    const std::function<void(const outlast::db::Slice&, const outlast::db::Slice&)>& visit);

}  // namespace outlast::apps::db
