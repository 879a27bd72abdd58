// One structure in use, while one of its users also creates, drops and fails to create other roots
// of the pool.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/pool/pool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace outlast::verify::detail {

/// Holds the first place of a fresh pool's root directory until `leave()`, so that roots that come
/// and go later take that one.
template <class Pool>
class first_place {
 public:
  explicit first_place(Pool& pool) : pool_(pool) {
    if (pool.roots().empty()) index_ = pool.attach_root("place", "nothing", 1, true).index;
  }
  void leave() {
    if (index_ != none) pool_.detach_root(std::exchange(index_, none), false);
  }

 private:
  static constexpr std::uint32_t none = 0xffff'ffff;

  Pool& pool_;
  std::uint32_t index_ = none;
};

/// What happens to other roots: one step for each operation of the thread that has the task. The
/// control plane takes a mutex, so there is one such thread.
///
/// `Other` is constructed from a pool and a name; `Use::fill(Other&)` changes it, and
/// `Use::complaint(Other&, bool whole)` returns what is wrong with what it holds.
template <class Pool, class Other, class Use>
class other_roots {
 public:
  explicit other_roots(Pool& pool) : pool_(pool) {}

  void go_on() {
    if (base::this_thread().slot != task) return;
    switch (step_++ % 3) {
      case 0: create(); break;
      case 1: drop(); break;
      default: fail();
    }
  }

  /// What was wrong with one of them, or "".
  [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

 private:
  static constexpr std::uint32_t task = 1;

  /// It may be there since before a crash, filled or not.
  void create() {
    Other other(pool_, "other");
    note(Use::complaint(other, false));
    Use::fill(other);
    note(Use::complaint(other, true));
    exists_ = true;
  }
  void drop() {
    if (exists_) pool_.drop_root("other");
    exists_ = false;
  }
  /// Pages were taken, then the creation fails.
  void fail() {
    const attached_root root = pool_.attach_root("failed", "nothing", 1, true);
    (void)pool_.pages().allocate_run(pool_format::run_kind::large, root.index, 0, 1,
                                     pool_format::page_bytes);
    pool_.detach_root(root.index, false);
  }
  void note(std::string complaint) {
    if (wrong_.empty()) wrong_ = std::move(complaint);
  }

  Pool& pool_;
  unsigned step_ = 0;
  bool exists_ = false;
  std::string wrong_;
};

/// Of stacks: a value comes, and one goes.
struct use_of_stack {
  template <class Stack>
  static void fill(Stack& other) {
    other.push(value);
    other.push(value);
    (void)other.pop();
  }
  template <class Stack>
  static std::string complaint(Stack& other, bool whole) {
    std::size_t count = 0;
    bool right = true;
    other.for_each([&](std::uint64_t held) {
      ++count;
      right = right && held == value;
    });
    if (!right) return "another root of the pool holds what was never stored there";
    if (whole && count == 0) return "another root of the pool has lost a value";
    return "";
  }

 private:
  static constexpr std::uint64_t value = 70;
};

/// `Structure`, whose user with the task has stacks, of type `Other`, come and go.
template <class Structure, class Other>
class beside_others : private first_place<typename Structure::pool_type>, public Structure {
  using place = first_place<typename Structure::pool_type>;

 public:
  using pool_type = typename Structure::pool_type;

  template <class... Options>
  beside_others(pool_type& pool, const std::string& name, const Options&... options)
      : place(pool), Structure(pool, name, options...), others_(pool) {
    place::leave();
  }

  template <class... Arguments>
  decltype(auto) insert(const Arguments&... arguments) {
    others_.go_on();
    return Structure::insert(arguments...);
  }
  template <class... Arguments>
  decltype(auto) erase(const Arguments&... arguments) {
    others_.go_on();
    return Structure::erase(arguments...);
  }
  template <class... Arguments>
  decltype(auto) contains(const Arguments&... arguments) {
    others_.go_on();
    return Structure::contains(arguments...);
  }
  template <class... Arguments>
  decltype(auto) push(const Arguments&... arguments) {
    others_.go_on();
    return Structure::push(arguments...);
  }
  decltype(auto) pop() {
    others_.go_on();
    return Structure::pop();
  }

  [[nodiscard]] std::string check() { return others_.wrong(); }

 private:
  other_roots<pool_type, Other, use_of_stack> others_;
};

}  // namespace outlast::verify::detail
