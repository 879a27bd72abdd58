// The wait-free engine for objects of any class, with unchanged sequential code. [Cor20]
//
//   using names = std::map<int, int, std::less<int>,
//                          outlast::tx::replica_allocator<std::pair<const int, int>>>;
//   outlast::tx::cx_puc<names> all(pool, "names");
//   bool added = all.update([=](names& m) { return m.emplace(key, value).second; });
//
// When to use: an existing class with plain members and plain pointers, and objects of up to some
// thousand lines. When not to: larger objects, since each update flushes all memory in use;
// tx::cx_ptm, whose members are fields, flushes only lines that were written.
//
// The protocol, CX: docs/papers/universal-constructions.md. It is that of cx_ptm, without a write
// set. So all memory in use in a replica is flushed before a durable word names the replica. After
// a failed operation, or too many missed ones, a replica is replaced by a copy, which the class's
// copy constructor makes.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/base/stored_name.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/baselines/detail/cx_session.hpp>
#include <outlast/tx/detail/attached_session.hpp>
#include <outlast/tx/heap.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace outlast::tx {

/// An allocator for containers of the standard library and similar classes, with memory in the
/// replica on which the running operation works. All allocators are equal.
///
/// Thread-safety: the engine's. Outside operations, and in reads, allocate() throws error{refused}.
template <class T>
class replica_allocator {
 public:
  using value_type = T;

  replica_allocator() = default;
  template <class U>
  replica_allocator(const replica_allocator<U>&) noexcept {}

  /// Throws out_of_space.
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      throw std::bad_array_new_length();
    }
    return static_cast<T*>(heap(running()).allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* block, std::size_t) noexcept { heap(running()).free(block); }

  friend bool operator==(const replica_allocator&, const replica_allocator&) noexcept {
    return true;
  }
};

namespace detail {

/// Repeats stores that bypassed `D` through `D`, if its stores are more than instructions: the
/// simulator then decides what a crash keeps of them.
template <domain::persistence_domain D>
class unseen_stores {
  static constexpr bool are_seen = std::is_base_of_v<domain::hardware_access, D>;

 public:
  unseen_stores(std::byte* memory, std::size_t bytes) : memory_(memory) {
    if constexpr (!are_seen) before_.assign(memory, memory + bytes);
  }
  /// Repeats all stores since the construction.
  void pass_on() {
    // Restores the memory first: a crash may happen at each of the stores.
    const std::vector<std::byte> after(memory_, memory_ + before_.size());
    std::copy(before_.begin(), before_.end(), memory_);
    for (std::size_t at = 0; at < before_.size(); at += base::cache_line_size) {
      const std::size_t part = std::min(base::cache_line_size, before_.size() - at);
      if (std::memcmp(after.data() + at, before_.data() + at, part) == 0) continue;
      D::write(memory_ + at, after.data() + at, part);
    }
  }

 private:
  std::byte* memory_;
  std::vector<std::byte> before_;
};

template <class T, domain::persistence_domain D>
class cx_puc_session final : public cx_session<cx_puc_session<T, D>, D> {
  using base_type = cx_session<cx_puc_session<T, D>, D>;

 public:
  cx_puc_session(basic_pool<D>& in, const attached_root& root, const std::string& name,
                 const options& wanted)
      : base_type(in, root, name, engine_kind::cx_puc, wanted) {
    static_cast<void>(fingerprint());
    this->provide(this->used(this->word_now().replica()).pages_end);
  }

  /// Returns the object of the replica; nullptr if there is none yet.
  [[nodiscard]] static T* object_in(std::byte* replica) noexcept {
    const root_entry* const entry = reinterpret_cast<heap_header*>(replica)->roots;
    return entry == nullptr ? nullptr : reinterpret_cast<T*>(entry->object.get());
  }
  [[nodiscard]] static std::uint64_t fingerprint_in(std::byte* replica) noexcept {
    return reinterpret_cast<heap_header*>(replica)->roots->fingerprint;
  }
  [[nodiscard]] static std::uint64_t fingerprint() {
    // The constructor calls it too: copies must not allocate ordinary memory.
    static const std::uint64_t known =
        base::hash_bytes(base::stored_name<T>() + "," + std::to_string(sizeof(T)));
    return known;
  }

  /// Creates the object T(args...) in the running operation. Requires: its replica has none yet.
  template <class... Args>
  static void make_object(Args&&... args) {
    void* const block = heap(running()).allocate(sizeof(T), alignof(T));
    T* const object = ::new (block) T(std::forward<Args>(args)...);
    root_entry* const entry = alloc<root_entry>();
    entry->object = reinterpret_cast<std::byte*>(object);
    entry->fingerprint = fingerprint();
    reinterpret_cast<heap_header*>(running().replica())->roots = entry;
  }

 private:
  friend base_type;
  using typename base_type::node;
  using typename base_type::replica_type;

  [[nodiscard]] cx_effect run(unsigned i, replica_type&, const node& operation, outcome& out) {
    unseen_stores<D> written(this->replica(i), this->bytes());
    transaction update = this->writing_unnoted(i);
    operation.run(update, out);
    written.pass_on();
    return out.failure == nullptr ? cx_effect::whole : cx_effect::unknown;
  }

  [[nodiscard]] static bool undo(unsigned, replica_type&) { return false; }

  [[nodiscard]] bool copy(unsigned from, unsigned to, replica_type&, bool) {
    unseen_stores<D> written(this->replica(to), this->bytes());
    transaction making = this->writing_unnoted(to);
    const running_scope now(making);
    bool is_whole = true;
    try {
      heap(making).format(this->page_bytes());
      const T* const original = object_in(this->replica(from));
      if (original != nullptr) make_object(*original);
    } catch (...) {
      is_whole = false;
    }
    written.pass_on();
    return is_whole;
  }

  void flush_written(unsigned i, replica_type&) {
    const heap::extent in_use = this->used(i);
    domain::flush<D>(this->replica(i), in_use.table_end);
    domain::flush<D>(this->replica(i) + in_use.pages_begin, in_use.pages_end - in_use.pages_begin);
    this->stage_lines();
  }
};

}  // namespace detail

/// A `T`, of any class, whose operations are durable, atomic and wait-free. [Cor20]
///
/// Requires: `T` takes its memory from a tx::replica_allocator, or from tx::alloc_bytes() and
/// tx::free(). It is default constructible, and its copy is a deep one. It has no virtual
/// functions, and no pointers except into its replica. So the pool must be mapped at the same
/// address at every opening. Its const functions change no member, not even mutable ones.
///
/// Thread-safety: all members may be called concurrently. An update is copied. Several threads may
/// run the copy concurrently, also after the caller has returned. Its captures must be copyable.
/// They are destroyed once no thread runs the copy, and after 1024 later updates. A read runs once,
/// on the caller's thread.
/// Progress: with options.replicas >= 2 N for N threads all members are wait-free, apart from the
/// operations themselves, T's copy constructor, and the growth of the file. With fewer replicas an
/// update waits until one is free. In a nearly full region, where the order of blocks decides
/// whether an operation finds room, an update may wait for the thread that found room. If T's copy
/// constructor lacks ordinary memory, an update waits for that.
/// Durability: when update() or read() returns, its result and all updates on which it depends are
/// durable.
/// Rules R1, R2 and R4 of manager.hpp apply. An operation that throws need not leave T consistent.
/// Space: the data, times the maximum number of replicas in use at one time. Memory: the last 1024
/// operations with their captures.
template <class T, domain::persistence_domain D = domain::native>
class cx_puc {
  static_assert(!std::is_polymorphic_v<T>,
                "an object in a pool outlives its process, and so must not have virtual functions");
  static_assert(std::default_initializable<T> && std::copy_constructible<T>,
                "a replica that has missed too much becomes a copy of another one");
  using session = detail::cx_puc_session<T, D>;

 public:
  using pool_type = basic_pool<D>;
  using domain_type = D;
  using value_type = T;

  /// The name of the engine, for reports.
  [[nodiscard]] static constexpr std::string_view engine_name() noexcept { return "cx_puc"; }

  /// Attaches the object `name` of `pool`, and creates it as T() if there is none. `name`: at most
  /// 44 bytes. After a reopening, the first update in each other replica copies it. Throws
  /// error{root_type_mismatch} if another engine owns the object or it is no T,
  /// error{address_taken} if the pool is mapped at another address than when it was created,
  /// error{header_damaged, newer_version, already_open, already_exists, bad_argument, refused,
  /// too_small}, corruption, out_of_space, and the exceptions of T().
  cx_puc(pool_type& pool, std::string_view name, const options& wanted = {})
      : session_(pool, name, wanted, false) {
    make_or_find();
  }

  /// Runs f(T&) as an operation. Operations are linearizable. The result is trivially copyable or
  /// void. An exception of f reaches the caller, and the operation has no effect. A call inside an
  /// operation of the same object is part of that. Throws std::bad_alloc without effect,
  /// error{io_failure, refused}.
  template <std::invocable<T&> F>
  auto update(F&& f) {
    using result = std::remove_cvref_t<std::invoke_result_t<F&, T&>>;
    static_assert(detail::is_result<result>,
                  "an operation answers with a trivially copyable value");
    if (transaction* const around = detail::enclosing(id(), true)) return f(object_of(*around));
    return session_->template run_update<result>(
        [f = std::decay_t<F>(std::forward<F>(f))](transaction& in) mutable {
          return f(object_of(in));
        });
  }
  /// Runs f(const T&), which changes nothing, as an operation.
  template <std::invocable<const T&> F>
  auto read(F&& f) {
    using result = std::remove_cvref_t<std::invoke_result_t<F&, const T&>>;
    static_assert(detail::is_result<result>,
                  "an operation answers with a trivially copyable value");
    if (transaction* const around = detail::enclosing(id(), false)) {
      return f(std::as_const(object_of(*around)));
    }
    return session_->read(
        [&f](transaction& in) -> result { return f(std::as_const(object_of(in))); });
  }

 private:
  void make_or_find() {
    const auto known = [](transaction& in) {
      return session::object_in(in.replica()) == nullptr ? 0
                                                         : session::fingerprint_in(in.replica());
    };
    std::uint64_t found = session_->read(known);
    if (found == 0) {
      found = session_->template run_update<std::uint64_t>([known](transaction& in) {
        if (session::object_in(in.replica()) == nullptr) session::make_object();
        return known(in);
      });
    }
    if (found == session::fingerprint()) return;
    throw error(errc::root_type_mismatch, session_->pool().path(),
                "the object '" + session_->name() + "' was created as another type than " +
                    typeid(T).name() + "; open it as that, or choose another name");
  }

  [[nodiscard]] static T& object_of(const transaction& in) noexcept {
    return *session::object_in(in.replica());
  }

  [[nodiscard]] const void* id() const noexcept { return session_.id(); }

  detail::attached_session<session, D> session_;
};

}  // namespace outlast::tx
