// The interface of transaction managers, which all engines share.
//
//   outlast::tx::left_right<> bank(pool, "bank");
//   outlast::tx::root<accounts> all = bank.root<accounts>("accounts");
//   bool moved = bank.update(all, [=](accounts& a) { return a.move(from, to, amount); });
//   std::uint64_t sum = bank.read(all, [](const accounts& a) { return a.total(); });
//
// The rules of user code, which may run several times, on another thread, on another replica:
//   R1  It captures by value, and has no effect except for its result. Engines with
//       `runs_after_return` may run it after its caller has returned.
//   R2  It computes only from its captures and from the data of the manager: no clock, no
//       randomness, no addresses.
//   R3  Persistent members are fields, pointers, or classes of these. Pointers into a replica must
//       not leave the transaction.
//   R4  An exception undoes all writes of the operation, and reaches its caller.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/transaction.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace outlast::tx {

/// Names an object of a manager in all its replicas. Trivially copyable: closures capture it.
template <class T>
struct root {
  std::uint64_t offset = 0;  ///< in a replica
};

/// The replica on which an update works. Its operator [] returns the object of a root.
class view {
 public:
  explicit view(transaction& in) noexcept : replica_(in.replica()) {}

  template <class T>
  [[nodiscard]] T& operator[](root<T> named) const noexcept {
    return *reinterpret_cast<T*>(replica_ + named.offset);
  }

 private:
  std::byte* replica_;
};
/// The replica on which a read works.
class const_view {
 public:
  explicit const_view(const transaction& in) noexcept : replica_(in.replica()) {}

  template <class T>
  [[nodiscard]] const T& operator[](root<T> named) const noexcept {
    return *reinterpret_cast<const T*>(replica_ + named.offset);
  }

 private:
  const std::byte* replica_;
};

/// Sequential code in, durable atomic transactions out. [Cor20]
///
/// update(f) runs f(view) and read(f) runs f(const_view). Transactions are linearizable. When a
/// call returns, its result, and all updates on which the result depends, are durable. A result is
/// void, or trivially copyable and not a view. A call inside an operation of the same manager is
/// part of that operation. update() inside read(), and operations of two managers inside each
/// other, throw error{refused}. An exception of f reaches the caller, and the operation has no
/// effect.
template <class M>
concept transaction_manager = requires(M& manager, root<int> named) {
  manager.update([](view) { return 1; });
  manager.read([](const_view) { return 1; });
  manager.update(named, [](int&) {});
  manager.read(named, [](const int&) { return 1; });
  { manager.template root<int>(std::string_view()) } -> std::same_as<root<int>>;
};

namespace detail {

/// The type root, for classes with a member function of that name.
template <class T>
using root_of = root<T>;

/// Views are no results: the next transaction may overwrite their bytes.
template <class T>
inline constexpr bool is_view = std::is_same_v<T, std::string_view>;
template <class T, std::size_t extent>
inline constexpr bool is_view<std::span<T, extent>> = true;
template <class T>
inline constexpr bool is_view<std::optional<T>> = is_view<T>;

template <class Result>
inline constexpr bool is_result =
    std::is_void_v<Result> || (std::is_trivially_copyable_v<Result> && !is_view<Result>);

/// Returns the transaction of `engine` in which the caller runs; nullptr if there is none.
[[nodiscard]] inline transaction* enclosing(const void* engine, bool to_write) {
  transaction* const around = current();
  if (around == nullptr) return nullptr;
  if (around->engine() != engine) {
    throw error(errc::refused, "",
                "a transaction of one manager calls another manager; keep data that is changed "
                "together in one manager");
  }
  if (to_write && !around->writes()) {
    throw error(errc::refused, "",
                "update() called inside read(); use update() for the whole operation");
  }
  return around;
}

/// The reads of a manager, or of a reader of one. Requires of `Engine`, which derives from it:
///   Result run_read<Result>(f), which runs f(transaction&) as a read of its own
///   const void* id(), the engine as its transactions name it
///   std::string where(), the path of the pool, for messages
template <class Engine>
class read_calls {
 public:
  /// Runs f(const_view) as a transaction. See tx::transaction_manager.
  template <std::invocable<const_view> F>
  auto read(F&& f) {
    using result = std::remove_cvref_t<std::invoke_result_t<F&, const_view>>;
    static_assert(is_result<result>,
                  "a transaction answers with a trivially copyable value that is no view");
    if (transaction* const around = mine(false)) return f(const_view(*around));
    return with_path([&]() -> result {
      return self().template run_read<result>([&f](transaction& in) { return f(const_view(in)); });
    });
  }
  /// Runs f(const T&) on one object as a transaction.
  template <class T, std::invocable<const T&> F>
  auto read(root_of<T> named, F&& f) {
    return read([named, f = std::forward<F>(f)](const_view in) mutable { return f(in[named]); });
  }

  /// The engine as its transactions name it. For verification.
  [[nodiscard]] const void* identity() { return self().id(); }

 protected:
  /// A named object, or none.
  struct found {
    std::uint64_t offset = 0;
    std::uint64_t fingerprint = 0;
  };

  read_calls() = default;
  ~read_calls() = default;

  [[nodiscard]] Engine& self() noexcept { return static_cast<Engine&>(*this); }
  [[nodiscard]] transaction* mine(bool to_write) { return enclosing(self().id(), to_write); }

  /// Adds the path of the pool to a corruption that an operation finds in its replica.
  template <class Run>
  auto with_path(Run&& run) {
    try {
      return run();
    } catch (const corruption& damage) {
      if (!damage.path().empty()) throw;
      throw corruption(self().where(), damage.what());
    }
  }

  /// Returns the name of an object as it is stored. Throws error{bad_argument}.
  [[nodiscard]] root_entry::text stored_text(std::string_view name) {
    root_entry::text text{};
    if (name.empty() || name.size() > text.size()) {
      throw error(errc::bad_argument, self().where(),
                  "the name of an object has from 1 to 40 bytes");
    }
    std::copy(name.begin(), name.end(), text.begin());
    return text;
  }
  template <class T>
  [[nodiscard]] static std::uint64_t fingerprint_of() {
    return base::hash_bytes(base::stored_name<T>() + "," + std::to_string(sizeof(T)));
  }
  /// Returns the object of this name, in a read. Throws corruption.
  template <class T>
  [[nodiscard]] found find_object(const root_entry::text& text) {
    return read([=, this](const_view) {
      const found old = find(text);
      if (old.offset != 0 && !holds<T>(running().replica() + old.offset)) refuse_objects();
      return old;
    });
  }
  template <class T>
  void require_type(const found& there, std::string_view name) {
    if (there.fingerprint == fingerprint_of<T>()) return;
    throw error(errc::root_type_mismatch, self().where(),
                "the object '" + std::string(name) + "' was created as another type than " +
                    typeid(T).name() + "; open it as that, or choose another name");
  }

  [[nodiscard]] static heap_header& header() {
    return *reinterpret_cast<heap_header*>(running().replica());
  }
  /// Throws corruption if the list leads out of the replica, or in a circle.
  [[nodiscard]] found find(const root_entry::text& name) {
    std::size_t left = running().bytes() / sizeof(root_entry);
    for (const root_entry* at = header().roots; at != nullptr; at = at->next) {
      if (left-- == 0 || !holds<root_entry>(at)) refuse_objects();
      if (at->name.get() == name) return {running().offset_of(at->object), at->fingerprint};
    }
    return {};
  }

 private:
  /// Returns true if `at` is in the heap's pages, and aligned.
  template <class T>
  [[nodiscard]] static bool holds(const void* at) {
    return room_at(running(), at) >= sizeof(T) && running().offset_of(at) % alignof(T) == 0;
  }
  [[noreturn]] void refuse_objects() {
    throw corruption(self().where(),
                     "the list of the objects of its transactions is damaged; restore a backup");
  }
};

/// The part of a manager that is the same for all engines. Requires of `Engine`, which derives from
/// it, in addition to what read_calls requires:
///   Result run_update<Result>(f), which runs f(transaction&) as an operation of its own
///   runs_after_return, true if it may run f after its caller has returned (f is then a copy)
template <class Engine>
class manager_calls : public read_calls<Engine> {
  using reads = read_calls<Engine>;
  using reads::find;
  using reads::header;
  using reads::mine;
  using reads::self;
  using reads::with_path;
  using typename reads::found;

 public:
  using reads::read;

  /// Runs f(view) as a transaction. See tx::transaction_manager.
  template <std::invocable<view> F>
  auto update(F&& f) {
    using result = std::remove_cvref_t<std::invoke_result_t<F&, view>>;
    static_assert(is_result<result>,
                  "a transaction answers with a trivially copyable value that is no view");
    if (transaction* const around = mine(true)) return f(view(*around));
    return with_path([&]() -> result {
      if constexpr (requires { requires Engine::runs_after_return; }) {
        return self().template run_update<result>(composed<view>(
            std::decay_t<F>(std::forward<F>(f)), [](transaction& in) { return view(in); }));
      } else {
        return self().template run_update<result>([&f](transaction& in) { return f(view(in)); });
      }
    });
  }
  /// Runs f(T&) on one object as a transaction.
  template <class T, std::invocable<T&> F>
  auto update(root_of<T> named, F&& f) {
    return update(composed<T&>(std::decay_t<F>(std::forward<F>(f)),
                               [named](view in) -> T& { return in[named]; }));
  }
  /// Returns the object `name`, and creates it as T() if there is none. Durable at return. `name`:
  /// from 1 to 40 bytes. Throws error{root_type_mismatch} if the object has another type,
  /// error{bad_argument} for a name that is too long or empty, out_of_space.
  template <class T>
  [[nodiscard]] root_of<T> root(std::string_view name) {
    static_assert(std::is_trivially_destructible_v<T>);
    const root_entry::text text = this->stored_text(name);
    const found known = this->template find_object<T>(text);
    const found there =
        known.offset != 0 ? known : create<T>(text, reads::template fingerprint_of<T>());
    this->template require_type<T>(there, name);
    return {there.offset};
  }

 private:
  /// Returns a function that calls `f` with of(argument), an `Argument`. Its call is const if that
  /// of `f` is: an engine then runs it without a copy.
  template <class Argument, class F, class Of>
  [[nodiscard]] static auto composed(F&& f, Of of) {
    if constexpr (std::is_invocable_v<const F&, Argument>) {
      return [f = std::move(f), of](auto&& in) { return f(of(in)); };
    } else {
      return [f = std::move(f), of](auto&& in) mutable { return f(of(in)); };
    }
  }

  template <class T>
  [[nodiscard]] found create(const root_entry::text& name, std::uint64_t fingerprint) {
    return update([=, this](view) {
      const found known = find(name);
      if (known.offset != 0) return known;
      root_entry* const entry = alloc<root_entry>();
      T* const object = alloc<T>();
      entry->name = name;
      entry->fingerprint = fingerprint;
      entry->object = reinterpret_cast<std::byte*>(object);
      entry->next = header().roots.get();
      header().roots = entry;
      return found{running().offset_of(object), fingerprint};
    });
  }
};

}  // namespace detail
}  // namespace outlast::tx
