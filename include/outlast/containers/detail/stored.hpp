// A key or value of a container, as it is stored in a replica and as it is read there.
#pragma once

#include <outlast/containers/byte_string.hpp>
#include <outlast/root/storable.hpp>
#include <outlast/tx/field.hpp>

#include <string>
#include <string_view>

namespace outlast::containers::detail {

/// A value of a trivially copyable type, as a field. Strings have the same members.
template <class T>
class stored {
 public:
  using view = const T&;
  using copy = T;  ///< of a view; for strings, a view itself

  stored() = default;
  explicit stored(view value) : value_(value) {}

  [[nodiscard]] view get() const noexcept { return value_.get(); }
  void set(view value) { value_ = value; }
  /// Moves the value of `from` here. `from` must not be used any more.
  void take(stored& from) { value_ = from.get(); }
  /// Frees the blocks of the value. Must be called before its owner is freed.
  void release() const noexcept {}

 private:
  tx::field<T> value_;
};

/// A byte string of any length.
template <>
class stored<std::string> {
 public:
  using view = std::string_view;
  using copy = std::string_view;

  stored() = default;
  explicit stored(view value) : value_(value) {}

  [[nodiscard]] view get() const { return value_.view(); }
  void set(view value) { value_.assign(value); }
  void take(stored& from) { value_.take(from.value_); }
  void release() { value_.release(); }

 private:
  byte_string value_;
};

template <class T>
using view_of = typename stored<T>::view;
template <class T>
using copy_of = typename stored<T>::copy;

}  // namespace outlast::containers::detail
