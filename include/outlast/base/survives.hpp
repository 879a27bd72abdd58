// Whether the bytes of a type mean the same to the next process.
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

/// Whether a T can be kept in a pool: whether it holds nothing that leads out of itself, which
/// would lead anywhere in the next process. The compiler sees pointers, references, functions and
/// views, in arrays, pairs, tuples and std::optional too, and in the first 16 members of
/// aggregates, and in theirs. It does not see into classes with private members, into unions beyond
/// their first member, nor past a member whose default constructor is missing.
///
/// A program answers for a type of its own, before that is used:
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

/// Becomes a value of any type, and may throw where that does not survive: it becomes what a member
/// is, where a value that refused some types would become what a member of that one is.
struct judge {
  template <class U>
  operator U() const noexcept(survives<std::remove_cv_t<U>>);
};
struct anything {
  template <class U>
  operator U() const noexcept;
};
struct what_is_lost {
  template <class U>
    requires(!survives<std::remove_cv_t<U>>)
  operator U() const noexcept;
};
/// Of types that can be made of anything themselves, so that nothing that becomes anything becomes
/// them.
struct what_is_lost_of_these {
  template <class U>
    requires(!survives<U>)
  operator std::optional<U>() const noexcept;
  template <class U, std::size_t N>
  operator std::span<U, N>() const noexcept;
};

/// Whether a `Value` can initialize the member of the aggregate that has that index; `Strict`:
/// without exceptions. Each member before it takes one pair of braces, whatever it is; an array
/// takes what its elements take.
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
  if constexpr (takes_at<T, anything, Index, true>) {
    return !takes_at<T, judge, Index, true>;
  } else {
    return takes_at<T, what_is_lost, Index> ||  // another member may throw
           takes_at<T, what_is_lost_of_these, Index>;
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

/// A reference as a member needs an initializer, and cannot be assigned.
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
  static_assert(survives<T>,
                "what lives in a pool means the same to the next process: it is no pointer, "
                "reference, view or function, and has none as a member (a type that is right all "
                "the same: specialize outlast::survives)");
  static constexpr bool value = true;
};

/// A link between objects of one pool is kept: roots are moved as a whole.
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

/// True, or an error with a sentence: for the types that users name.
template <class T>
inline constexpr bool must_survive = detail::surviving<std::remove_cv_t<T>>::value;
/// Trivially copyable; an error with a sentence if it does not survive.
template <class T>
inline constexpr bool keepable = must_survive<T> && std::is_trivially_copyable_v<T>;
/// The same of a member of nodes, which may be a link to another one.
template <class T>
inline constexpr bool must_survive_or_link = detail::linking<std::remove_cv_t<T>>::value;

}  // namespace outlast::base
