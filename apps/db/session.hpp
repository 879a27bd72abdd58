// A store that a command has opened.
#pragma once

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

/// How a command opens a store.
enum class opening {
  existing,      ///< it has to be there
  made,          ///< it is made if it is not there
  made_or_none,  ///< it must not be there
};

/// Bytes of data for which a store is made; 0: as much as there is room for.
using capacity = std::uint64_t;

/// Throws failure.
[[nodiscard]] std::unique_ptr<outlast::db::DB> open_store(const std::string& directory,
                                                          opening how = opening::existing,
                                                          capacity room = 0);

/// A number that the store tells about itself.
[[nodiscard]] std::uint64_t number_of(outlast::db::DB& store, const std::string& property);
/// A text that the store tells about itself.
[[nodiscard]] std::string text_of(outlast::db::DB& store, const std::string& property);

/// Keys from `from` on and before `to`.
struct key_range {
  std::string from;
  std::optional<std::string> to;  ///< none: to the end

  /// Only those that begin with `prefix`.
  void narrow(const std::string& prefix);
};

/// Calls visit(key, value) for at most `limit` keys, and answers for how many. Throws failure.
std::uint64_t visit(
    outlast::db::DB& store, const key_range& range, bool backwards, std::uint64_t limit,
    const std::function<void(const outlast::db::Slice&, const outlast::db::Slice&)>& visit);

}  // namespace outlast::apps::db
