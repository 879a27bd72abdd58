// The comparators that the tool has, with any name that a program has given them.
#pragma once

#include <outlast/db/comparator.hpp>

#include <array>
#include <string>
#include <string_view>

namespace outlast::apps::db {

enum class order_kind { bytewise, reverse };

/// The values of --comparator.
inline constexpr std::array<const char*, 2> orders_given = {"bytewise", "reverse"};

/// Returns the comparator with this name, which lives as long as the process. `given`: the value of
/// --comparator, which states the order for any name. If it is "", returns nullptr for a name that
/// is not a usual one.
[[nodiscard]] const outlast::db::Comparator* comparator_of(const std::string& name,
                                                           std::string_view given);
/// Returns the comparator with the usual name for the order `given`, bytewise for "".
[[nodiscard]] const outlast::db::Comparator& usual_comparator(std::string_view given);

/// Returns true if `name` is the usual name of an order other than `given`.
[[nodiscard]] bool contradicts(const std::string& name, std::string_view given);

}  // namespace outlast::apps::db
