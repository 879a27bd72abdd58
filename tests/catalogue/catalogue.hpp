// Every structure of the library under every policy, ready to be verified.
#pragma once

#include <outlast/verify/explorer/program_sites.hpp>
#include <outlast/verify/explorer/subject.hpp>

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
  scope within = {};      ///< how far scenarios must reach to show what is special about it
  std::string type = {};  ///< of the structure: see name_in_functions(); empty: what all share
  bool blocks = false;    ///< threads wait for each other: none may stop for good
};

[[nodiscard]] const std::vector<catalogue_entry>& catalogue();

/// Of `all`, the sites that the entry's structure may pass.
[[nodiscard]] site_coverage coverage_of(const catalogue_entry& entry,
                                        const std::vector<program_site>& all);

}  // namespace outlast::verify
