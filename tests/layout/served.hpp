// The items of a server in the golden pools: of a cache, and of stores of both formats.
#pragma once

#include <outlast/pool/pool.hpp>

#include <string>
#include <string_view>

namespace outlast::test {

/// Stores items by requests of both protocols, as a server does. The time of these requests is
/// fixed. Those of content_of_...() have a later time, at which an item has expired.
void fill_served_cache(pool& in);
[[nodiscard]] std::string content_of_served_cache(pool& in);
/// Replaces, adds and removes items. Throws std::runtime_error if a number is given again.
void change_served_cache(pool& in);

/// The same in the directory of a store. Items with parts make its format 2.
void fill_served_store(const std::string& directory, bool has_parts);
[[nodiscard]] std::string content_of_served_store(const std::string& directory);
void change_served_store(const std::string& directory);

// These texts never change, because pools with this content exist.
inline constexpr std::string_view filled_served_cache =
    "VALUE counter 0 2 4|42|END|VALUE plain 7 5|hello|END|:5000|$10|lllllllllZ|$5|later|"
    ":4102444800000|*2|$3|one|$3|two|";
inline constexpr std::string_view changed_served_cache =
    "VALUE counter 0 2 4|42|END|VALUE plain 9 3|new|END|:5000|$10|lllllllllZ|$5|later|"
    ":4102444800000|*2|$4|ones|$-1|";
inline constexpr std::string_view filled_served_store_1 =
    "VALUE counter 0 2 4|42|END|VALUE plain 7 5|hello|END|:5000|$10|lllllllllZ|$5|later|"
    ":4102444800000|*2|$3|one|$3|two|"
    "*3|$-1|$-1|$-1|:0|*3|:0|:0|:0|:0|*0|*0|:0|";
inline constexpr std::string_view changed_served_store_1 =
    "VALUE counter 0 2 4|42|END|VALUE plain 9 3|new|END|:5000|$10|lllllllllZ|$5|later|"
    ":4102444800000|*2|$4|ones|$-1|"
    "*3|$-1|$2|22|$-1|:1|*3|:0|:0|:0|:0|*2|$6|middle|$1|9|*1|$1|o|:0|";
inline constexpr std::string_view filled_served_store_2 =
    "VALUE counter 0 2 4|42|END|VALUE plain 7 5|hello|END|:5000|$10|lllllllllZ|$5|later|"
    ":4102444800000|*2|$3|one|$3|two|"
    "*3|$1|1|$-1|$1|3|:2|*3|:1|:1|:0|:2|*4|$3|low|$3|1.5|$4|high|$2|20|*3|$1|p|$1|q|$1|r|:0|";
inline constexpr std::string_view changed_served_store_2 =
    "VALUE counter 0 2 4|42|END|VALUE plain 9 3|new|END|:5000|$10|lllllllllZ|$5|later|"
    ":4102444800000|*2|$4|ones|$-1|"
    "*3|$1|1|$2|22|$1|3|:3|*3|:0|:1|:0|:1|*6|$3|low|$3|1.5|$6|middle|$1|9|$4|high|$2|20|"
    "*4|$1|o|$1|p|$1|q|$1|r|:0|";

}  // namespace outlast::test
