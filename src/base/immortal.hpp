// An object of static storage duration that is never destroyed.
#pragma once

namespace outlast::base {

/// Holds a `T` from before main() until the process ends. Destructors of static and thread_local
/// objects of a program may use pools, so that the library's objects at namespace scope must
/// outlive all of them. Constant initialization with `constinit` ensures that a fork() never finds
/// it half made. Thread-safety: that of `T`.
template <class T>
union immortal {
  constexpr immortal() : value() {}
  ~immortal() {}  // `value` stays as it is

  T value;
};

}  // namespace outlast::base
