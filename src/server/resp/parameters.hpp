// The parameters that CONFIG GET shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {

class session;

/// A parameter of Redis as this server has it.
struct parameter {
  std::string_view name;
  std::string value;
};

[[nodiscard]] std::vector<parameter> parameters_of(const session& of);
/// Returns Redis's name for the behavior at the bound of the space.
[[nodiscard]] std::string_view eviction_policy_of(const session& of);

}  // namespace outlast::server::resp
