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

/// Why a command did not do what it was to do.
struct failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws failure unless it is OK.
void require(const outlast::db::Status& status);
/// The same of a write: where there is no space the message tells what makes some.
void require_written(const outlast::db::Status& status);

/// Bytes of data for which a store is made; 0: as much as there is room for.
using capacity = std::uint64_t;

/// An open store, and the order of its keys.
struct db_impl {
  std::unique_ptr<outlast::db::DB> store;
  /// Null: the program's own, which the tool does not have; the keys come as they lie.
  const outlast::db::Comparator* order = nullptr;

  [[nodiscard]] outlast::db::DB& operator*() const noexcept { return *store; }
  [[nodiscard]] outlast::db::DB* operator->() const noexcept { return store.get(); }
};

/// What a command does with the keys that it reads.
enum class reading {
  looks,  ///< looks for some: it needs their order
  walks,  ///< takes all of them as they lie
};

/// Is a store there, or what a repair that was cut off has left of one?
[[nodiscard]] bool holds_store(const std::string& directory);

/// Opens a store to be read; nothing of it changes. `order`: what --comparator was. Throws failure,
/// also if the keys are in another order than that.
[[nodiscard]] db_impl open_to_read(const std::string& directory, reading how,
                                   const std::string& order);

/// How a command opens a store that it writes to.
enum class opening {
  existing,      ///< it has to be there
  made,          ///< it is made if it is not there
  made_or_none,  ///< it must not be there
};

/// Throws failure, and has changed nothing then. `order`: as above. `order_name`: that a store has
/// which is made; "": the usual one.
[[nodiscard]] db_impl open_to_write(const std::string& directory, opening how, capacity room,
                                    const std::string& order, const std::string& order_name = {});

/// The comparator of a store that is there; of one that cannot be read, the usual one of the order.
/// Throws failure if the tool does not have it.
[[nodiscard]] const outlast::db::Comparator& comparator_in(const std::string& directory,
                                                           const std::string& order);

/// A number that the store tells about itself.
[[nodiscard]] std::uint64_t number_of(outlast::db::DB& store, const std::string& property);
/// A text that the store tells about itself.
[[nodiscard]] std::string text_of(outlast::db::DB& store, const std::string& property);

/// Keys from `from` on and before `to`, that begin with `prefix`.
struct key_range {
  std::optional<std::string> from;  ///< none: from the first one on
  std::optional<std::string> to;    ///< none: to the end
  std::string prefix;

  /// Only those that begin with `with`.
  void narrow(const std::string& with, const outlast::db::Comparator& order);
};

/// Calls visit(key, value) for at most `limit` keys, and answers for how many. A range is one of
/// the store's order, but all keys are of any. Throws failure.
std::uint64_t visit(
    const db_impl& store, const key_range& range, bool backwards, std::uint64_t limit,
    const std::function<void(const outlast::db::Slice&, const outlast::db::Slice&)>& visit);

}  // namespace outlast::apps::db
