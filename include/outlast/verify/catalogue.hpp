// Every structure of the library under every policy, ready to be verified.
#pragma once

#include <outlast/verify/subject.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace outlast::verify {

/// A structure under a policy, by the names that the command line knows.
struct catalogue_entry {
  std::string structure;
  std::string policy;
  std::function<std::unique_ptr<subject>()> make;
  scope within = {};  ///< how far scenarios must reach to show what is special about it
};

[[nodiscard]] const std::vector<catalogue_entry>& catalogue();

}  // namespace outlast::verify
