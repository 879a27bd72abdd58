// The trait that rejects types whose bytes have no meaning in the next process.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace outlast::base::detail {

template <class T>
consteval bool seems_to_survive();

}  // namespace outlast::base::detail

namespace outlast {

/// True if a T can be kept in a pool, that is, if it holds nothing that refers to memory outside of
/// itself: such a reference would be wrong in the next process. The compiler detects pointers,
/// references, functions and views, also in arrays, pairs, tuples and std::optional, and in the
/// first 16 members of aggregates, recursively. It does not detect them in classes with private
/// members, in union members after the first one, or after a member whose default constructor is
/// missing.
///
/// A program decides for its own type before the type is used:
///   template <>
///   inline constexpr bool outlast::survives<index_in_disguise> = true;
template <class T>
inline constexpr bool survives = base::detail::seems_to_survive<T>();

}  // namespace outlast

namespace outlast::base {

namespace detail {

template <class T>
inline constexpr bool is_view = false;
template <class C, class Traits>
inline constexpr bool is_view<std::basic_string_view<C, Traits>> = true;
template <class T, std::size_t N>
inline constexpr bool is_view<std::span<T, N>> = true;
template <class T>
inline constexpr bool is_view<std::reference_wrapper<T>> = true;
template <class T>
inline constexpr bool is_view<std::initializer_list<T>> = true;

template <class T>
inline constexpr bool parts_survive = true;
template <class A, class B>
inline constexpr bool parts_survive<std::pair<A, B>> = survives<A> && survives<B>;
template <class... All>
inline constexpr bool parts_survive<std::tuple<All...>> = (survives<All> && ...);
template <class T>
inline constexpr bool parts_survive<std::optional<T>> = survives<T>;
template <class T, std::size_t N>
inline constexpr bool parts_survive<std::array<T, N>> = survives<T>;

/// Converts to any type, and may throw if that type does not survive. It converts to the type of
/// the member itself; a value that refused some types would convert to the type of a member of that
/// member.
struct survival_probe {
  template <class U>
  operator U() const noexcept(survives<std::remove_cv_t<U>>);
};
struct any_value {
  template <class U>
  operator U() const noexcept;
};
struct lost_value {
  template <class U>
    requires(!survives<std::remove_cv_t<U>>)
  operator U() const noexcept;
};
/// For types that can be constructed from any value, so that no value that converts to each type
/// converts to them.
struct lost_value_of_wrapper {
  template <class U>
    requires(!survives<U>)
  operator std::optional<U>() const noexcept;
  template <class U, std::size_t N>
  operator std::span<U, N>() const noexcept;
};

/// True if a `Value` can initialize the aggregate's member with that index. `Strict`: without
/// exceptions. Each member before it takes one pair of braces, whatever its type; an array takes
/// the initializers of its elements.
template <class T, class Value, std::size_t Index, bool Strict = false>
concept takes_at =
    (Index == 0 && requires(const Value of) {
      T{of};
      requires !Strict || noexcept(T{of});
    }) || (Index == 1 && requires(const Value of) {
      T{{}, of};
      requires !Strict || noexcept(T{{}, of});
    }) || (Index == 2 && requires(const Value of) {
      T{{}, {}, of};
      requires !Strict || noexcept(T{{}, {}, of});
    }) || (Index == 3 && requires(const Value of) {
      T{{}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, of});
    }) || (Index == 4 && requires(const Value of) {
      T{{}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, of});
    }) || (Index == 5 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, of});
    }) || (Index == 6 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, {}, of});
    }) || (Index == 7 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, {}, {}, of});
    }) || (Index == 8 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, {}, {}, {}, of});
    }) || (Index == 9 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, {}, {}, {}, {}, of});
    }) || (Index == 10 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of});
    }) || (Index == 11 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of});
    }) || (Index == 12 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of});
    }) || (Index == 13 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of});
    }) || (Index == 14 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of};
      requires !Strict || noexcept(T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of});
    }) || (Index == 15 && requires(const Value of) {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of};
      requires !Strict ||
                   noexcept(T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, of});
    });

inline constexpr std::size_t max_members = 16;

template <class T, std::size_t Index>
consteval bool is_lost_at() {
  if constexpr (takes_at<T, any_value, Index, true>) {
    return !takes_at<T, survival_probe, Index, true>;
  } else {
    return takes_at<T, lost_value, Index> ||  // another member may throw
           takes_at<T, lost_value_of_wrapper, Index>;
  }
}

template <class T, std::size_t Index = 0>
consteval bool members_survive() {
  if constexpr (Index == max_members) {
    return true;
  } else if constexpr (is_lost_at<T, Index>()) {
    return false;
  } else {
    return members_survive<T, Index + 1>();
  }
}

/// True if a member is a reference: it needs an initializer, and cannot be assigned.
template <class T>
concept has_reference = !std::is_copy_assignable_v<T> && !requires { T{}; };

template <class T>
consteval bool seems_to_survive() {
  if constexpr (std::is_array_v<T>) {
    return survives<std::remove_all_extents_t<T>>;
  } else if constexpr (std::is_pointer_v<T> || std::is_member_pointer_v<T> ||
                       std::is_reference_v<T> || std::is_function_v<T> || is_view<T>) {
    return false;
  } else if constexpr (!parts_survive<T>) {
    return false;
  } else if constexpr (std::is_aggregate_v<T>) {
    return !has_reference<T> && members_survive<T>();
  } else {
    return true;
  }
}

template <class T>
struct surviving {
  static_assert(
      survives<T>,
      "a type in a pool must mean the same to the next process: no pointer, reference, view "
      "or function, also not as a member (for a type that is right nevertheless, specialize "
      "outlast::survives)");
  static constexpr bool value = true;
};

/// A link between objects of one pool is permitted: a root is moved as a whole.
template <class T>
inline constexpr bool is_link = std::is_pointer_v<T> && std::is_object_v<std::remove_pointer_t<T>>;
template <>
inline constexpr bool is_link<void*> = true;

template <class T>
struct linking : surviving<T> {};
template <class T>
  requires is_link<T>
struct linking<T> {
  static constexpr bool value = true;
};

}  // namespace detail

/// True, or a compile error with an explanation. For the types that users name.
template <class T>
inline constexpr bool must_survive = detail::surviving<std::remove_cv_t<T>>::value;
/// True if T is trivially copyable. A compile error with an explanation if it does not survive.
template <class T>
inline constexpr bool keepable = must_survive<T> && std::is_trivially_copyable_v<T>;
/// Like must_survive, for a member of nodes, which may be a link to another node.
template <class T>
inline constexpr bool must_survive_or_link = detail::linking<std::remove_cv_t<T>>::value;

}  // namespace outlast::base
