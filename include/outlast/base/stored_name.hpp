// The names of types as pools record them.
//
// A pool records a fingerprint of the types that a root or an object consists of, and the
// compiler's name of a type is a part of it. A type of this library that is renamed or moved keeps
// the name that pools record: its header declares a tag with the old name, which is never
// defined, and specializes `stored_as`.
#pragma once

#include <string>
#include <type_traits>
#include <typeinfo>

namespace outlast::base {

/// Maps `T` to the type whose name pools record. That type may be incomplete.
template <class T>
struct stored_as {
  using type = T;
};

/// A template of types, such as std::pair, is recorded with the recorded names of its arguments.
template <template <class...> class Template, class... Arguments>
  requires(!std::is_same_v<typename stored_as<Arguments>::type, Arguments> || ...)
struct stored_as<Template<Arguments...>> {
  using type = Template<typename stored_as<Arguments>::type...>;
};

/// Returns the name that pools record for `T`. It is the compiler's name for `T`, as the Itanium
/// ABI mangles it, except for types of this library that have been renamed since format 1. Throws
/// std::bad_alloc.
template <class T>
[[nodiscard]] std::string stored_name() {
  // A pointer, since the tag may be incomplete. Its name is `P` and the name of its target.
  return std::string(typeid(typename stored_as<std::remove_cv_t<T>>::type*).name()).substr(1);
}

}  // namespace outlast::base
