// The persistence sites of the running program, passed or not.
//
// `site::current()` leaves a record {file, function, line, column} in the program's data wherever
// it was compiled. They are found there: a place that no run has ever passed is known all
// the same. Function names bear their template arguments, so a record tells which domain, policy
// and structure it was compiled for.
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
/// fence: where it calls a domain, a cell, or a function that does so in its name. Loads of a
/// domain and accesses of volatile memory are none. Loads of a cell are: what they find tagged they
/// flush.
struct program_site {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string function;  ///< template arguments in place of parameters

  /// "harris_list.hpp:123:31".
  [[nodiscard]] std::string text() const;
};

/// Each site of the running program once per function compiled from it, by file and line. Needs an
/// ELF program. Functions whose names do not mention domain::simulated, such as those that are no
/// templates, are not seen.
[[nodiscard]] std::vector<program_site> program_sites();

namespace detail {

/// Puts template arguments in place of parameters and leaves out spaces that separate no words:
/// then the names that g++ gives resemble those of clang++.
[[nodiscard]] std::string without_parameters(std::string_view function);
/// What `function` says that its template parameter `parameter` is.
[[nodiscard]] std::string argument_of(std::string_view function, std::string_view parameter);

/// A class, because g++ leaves out the namespace of a function in the names of types in it.
template <class Type>
struct type_name {
  [[nodiscard]] static std::string text() { return argument_of(__PRETTY_FUNCTION__, "Type"); }
};

}  // namespace detail

/// The type's name as it appears in `program_site::function`.
template <class Type>
[[nodiscard]] std::string name_in_functions() {
  return detail::type_name<Type>::text();
}

/// Which of the program's sites were passed by some runs. A site counts once, however many
/// functions were compiled from it.
///
/// Thread-safety: none.
class site_coverage {
 public:
  /// Of the whole program.
  explicit site_coverage(const std::vector<program_site>& all);
  /// Of one structure: the sites in functions that mention its type, and in those that mention no
  /// policy, which serve every structure. What mentions a policy and no structure may serve some:
  /// such a site counts once it was passed, and so do those of the
  /// parts that sets share. A structure that has no policy stands for one.
  /// `types` are all the program's structures, each a name_in_functions().
  site_coverage(const std::vector<program_site>& all, std::string_view type,
                const std::vector<std::string>& types);

  /// Takes in what a run has passed.
  void add(const site_table& run);

  [[nodiscard]] std::size_t known() const noexcept { return reached_.size() + unreached_.size(); }
  [[nodiscard]] std::size_t reached() const noexcept { return reached_.size(); }
  /// The others, by file and line.
  [[nodiscard]] std::vector<program_site> unreached() const;

 private:
  using place = std::tuple<std::string, unsigned, unsigned>;  // file, line, column

  std::set<place> reached_;
  std::map<place, std::string> unreached_;  // with a function compiled from it
  std::set<place> perhaps_;                 // count once they are passed
};

}  // namespace outlast::verify
