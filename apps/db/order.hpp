// Orders of keys that the tool has, under whatever name a program has given them.
#pragma once

#include <outlast/db/comparator.hpp>

#include <array>
#include <string>
#include <string_view>

namespace outlast::apps::db {

enum class order_kind { bytewise, reverse };

/// What --comparator takes.
inline constexpr std::array<const char*, 2> orders_given = {"bytewise", "reverse"};

/// The comparator of this name. `given`: what --comparator was, the order that the name stands for;
/// "": the name has to be a usual one. Null if it is not. Lives as long as the process.
[[nodiscard]] const outlast::db::Comparator* comparator_of(const std::string& name,
                                                           std::string_view given);
/// The same for what has no name yet: it gets the usual one of the order, bytewise for "".
[[nodiscard]] const outlast::db::Comparator& usual_comparator(std::string_view given);

/// Does another order than `given` have this name?
[[nodiscard]] bool contradicts(const std::string& name, std::string_view given);

}  // namespace outlast::apps::db
