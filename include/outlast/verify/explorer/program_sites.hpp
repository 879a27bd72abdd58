// The persistence sites of the running program, passed or not.
//
// Each compiled `site::current()` leaves a record {file, function, line, column} in the program's
// data. program_sites() reads the records from there, so it also finds places that no run has
// passed. Function names contain their template arguments. A record therefore identifies the
// domain, policy and structure for which it was compiled.
#pragma once

#include <outlast/verify/explorer/mutants.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace outlast::verify {

/// A place in the source at which a function compiled for domain::simulated can store, flush or
/// fence: a call of a domain, of a cell, or of a function that receives the place as its site.
/// Loads of a domain and accesses of volatile memory are no sites. Loads of a cell are sites,
/// because they flush a tagged location.
struct program_site {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string function;  ///< with template arguments instead of parameters

  /// Returns a text such as "harris_list.hpp:123:31".
  [[nodiscard]] std::string text() const;
};

/// Returns each site of the running program once per function compiled from it, by file and line.
/// Requires: an ELF program. Functions whose names do not mention domain::simulated, such as
/// functions that are no templates, are not found.
[[nodiscard]] std::vector<program_site> program_sites();

namespace detail {

/// Replaces template parameters by their arguments and removes spaces that separate no words. The
/// names from g++ then resemble those from clang++.
[[nodiscard]] std::string without_parameters(std::string_view function);
/// Returns the template argument that `function` names for its parameter `parameter`.
[[nodiscard]] std::string argument_of(std::string_view function, std::string_view parameter);

/// The name of a type. It is a class because g++ omits the namespace of a function in the names of
/// types in that function.
template <class Type>
struct type_name {
  [[nodiscard]] static std::string text() { return argument_of(__PRETTY_FUNCTION__, "Type"); }
};

}  // namespace detail

/// Returns the type's name as it appears in `program_site::function`.
template <class Type>
[[nodiscard]] std::string name_in_functions() {
  return detail::type_name<Type>::text();
}

/// Records which of the program's sites were passed by a set of runs. A site counts once, for any
/// number of functions compiled from it.
///
/// Thread-safety: none.
class site_coverage {
 public:
  /// Covers the whole program.
  explicit site_coverage(const std::vector<program_site>& all);
  /// Covers one structure: the sites in functions that mention its type, and in functions that
  /// mention no policy, which serve every structure. A function that mentions a policy and no
  /// structure can serve some structures; its sites count after they were passed, and so do sites
  /// of the parts that sets share. A structure without a policy takes the place of a policy.
  /// `types` contains all structures of the program, each as a name_in_functions().
  site_coverage(const std::vector<program_site>& all, std::string_view type,
                const std::vector<std::string>& types);

  /// Adds the sites that a run has passed.
  void add(const site_table& run);

  [[nodiscard]] std::size_t known() const noexcept { return reached_.size() + unreached_.size(); }
  [[nodiscard]] std::size_t reached() const noexcept { return reached_.size(); }
  /// Returns the other sites, by file and line.
  [[nodiscard]] std::vector<program_site> unreached() const;

 private:
  using place = std::tuple<std::string, unsigned, unsigned>;  // file, line, column

  std::set<place> reached_;
  std::map<place, std::string> unreached_;  // with a function compiled from it
  std::set<place> perhaps_;                 // count once they are passed
};

}  // namespace outlast::verify
