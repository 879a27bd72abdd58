// What commands of hashes, sets and sorted sets have in common.
#pragma once

#include <outlast/base/function_ref.hpp>
#include <outlast/server/items.hpp>

#include <src/server/resp/request_parser.hpp>
#include <src/server/resp/session.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace outlast::server::resp {

/// Adds the number of elements.
void write_size(session& to, std::string_view key, item_type type);
/// Removes the elements that the words from the third on name, and adds the number of those that
/// were present. Requires: no sorted set.
void remove_elements(session& to, arguments words, item_type type);
/// Executes HSCAN, SSCAN and ZSCAN. `write_value` adds the value after the name, if there is one.
void scan_elements(session& to, arguments words, item_type type,
                   base::function_ref<void(std::string_view value)> write_value);
/// Reads the count of HRANDFIELD and ZRANDMEMBER, and the word after it, which asks for values.
/// Adds an error and returns nothing if they are wrong.
[[nodiscard]] std::optional<std::int64_t> random_count_of(session& to, arguments words);
/// Reads a count that must not be negative. Adds an error and returns nothing if it is wrong.
[[nodiscard]] std::optional<std::uint64_t> count_of(session& to, std::string_view text);

/// The words of ZMPOP and LMPOP.
struct pop_request {
  arguments keys;
  bool is_second = false;  ///< the second of the two ends
  std::uint64_t count = 1;
};

/// Reads the words from the number of keys on. Adds an error and returns nothing if they are wrong.
[[nodiscard]] std::optional<pop_request> pop_request_of(session& to, arguments words,
                                                        std::string_view first_end,
                                                        std::string_view second_end);

}  // namespace outlast::server::resp
