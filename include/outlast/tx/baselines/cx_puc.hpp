// The wait-free engine for objects of any class: sequential code that knows nothing of it.
//
//   using names = std::map<int, int, std::less<int>,
//                          outlast::tx::replica_allocator<std::pair<const int, int>>>;
//   outlast::tx::cx_puc<names> all(pool, "names");
//   bool added = all.update([=](names& m) { return m.emplace(key, value).second; });
//
// When to use: a class that is there already, with plain members and plain pointers, and objects up
// to some thousand lines. When not to: larger ones, since each update flushes all that is in use;
// for tx::cx_ptm members are fields, and it flushes what was written.
//
// The protocol: docs/papers/universal-constructions.md. It is that of cx_ptm, but nobody notes what
// an operation writes. So all that is in use in a replica is flushed before a durable word names
// it; a replica in which an operation has failed is made again as a copy, by the class's copy
// constructor, as is one that has missed too much.
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

/// Memory for containers of the standard library, and their like, in the replica on which the
/// running operation works. All are equal.
///
/// Thread-safety: the engine's. Outside of operations, and in reads, allocate() throws
/// error{refused}.
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

/// Lets stores that went past `D` go through it, where that is more than an instruction: what a
/// crash keeps of them is then simulated.
template <domain::persistence_domain D>
class unseen_stores {
  static constexpr bool are_seen = std::is_base_of_v<domain::hardware_access, D>;

 public:
  unseen_stores(std::byte* memory, std::size_t bytes) : memory_(memory) {
    if constexpr (!are_seen) before_.assign(memory, memory + bytes);
  }
  /// All that were made since the construction.
  void pass_on() {
    // None is left in the memory when the first one goes its way, where a crash may look at it.
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

  /// The object of the replica; null if there is none yet.
  [[nodiscard]] static T* object_in(std::byte* replica) noexcept {
    const root_entry* const entry = reinterpret_cast<heap_header*>(replica)->roots;
    return entry == nullptr ? nullptr : reinterpret_cast<T*>(entry->object.get());
  }
  [[nodiscard]] static std::uint64_t fingerprint_in(std::byte* replica) noexcept {
    return reinterpret_cast<heap_header*>(replica)->roots->fingerprint;
  }
  [[nodiscard]] static std::uint64_t fingerprint() {
    // Asked for in the constructor as well: copies are made without ordinary memory.
    static const std::uint64_t known =
        base::hash_bytes(base::stored_name<T>() + "," + std::to_string(sizeof(T)));
    return known;
  }

  /// The object T(args...), in the running operation, whose replica has none yet.
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

/// A `T` whose operations are durable, atomic and wait-free, whatever class that is. [Cor20]
///
/// `T` takes its memory from a tx::replica_allocator, or from tx::alloc_bytes() and tx::free(); it
/// is default constructible, and its copy is a whole one. It may hold plain pointers into its
/// replica, but none to anything else, and no virtual functions. So the pool must be mapped where
/// it was, at every opening. Its const functions change nothing, mutable members neither.
///
/// Thread-safety: all members may be called concurrently. An update is copied: other threads may
/// run the copy, several at a time, also when its caller has returned; its captures are copyable,
/// and are destroyed when nobody runs it and 1024 later updates have taken its place. A read runs
/// once, on its caller's thread.
/// Progress: with options.replicas >= 2 N for N threads all is wait-free, apart from the operations
/// themselves, T's copy constructor, and the growth of the file. With fewer an update blocks: it
/// waits until a replica is free. In a region so full that it depends on the order of blocks
/// whether an operation finds room, an update may wait for the thread that found some; and for
/// ordinary memory, if T's copy constructor lacks that.
/// Durable at return: what update() and read() answered, and what that depends on.
/// Rules R1, R2 and R4 of manager.hpp hold; an operation that throws need not leave T whole.
/// Space: the data, times the replicas that were ever needed at a time. Memory: the last 1024
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

  /// For reports.
  [[nodiscard]] static constexpr std::string_view engine_name() noexcept { return "cx_puc"; }

  /// Attaches the object `name` of `pool`; creates it as T() if there is none. `name`: at most 44
  /// bytes. After a reopening an update that first takes another replica makes it anew. Throws
  /// error{root_type_mismatch} if another engine owns it or it is no T, error{address_taken} if the
  /// pool is mapped elsewhere than where it was created, error{header_damaged, newer_version,
  /// already_open, already_exists, bad_argument, refused, too_small}, corruption, out_of_space, and
  /// what T() throws.
  cx_puc(pool_type& pool, std::string_view name, const options& wanted = {})
      : session_(pool, name, wanted, false) {
    make_or_find();
  }

  /// Runs f(T&) as one step of a single order of all operations; its result is trivially copyable,
  /// or there is none. What it throws reaches the caller, and it has not happened. A call inside of
  /// an operation of the same object is part of it. Throws std::bad_alloc without effect,
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
  /// The same for f(const T&), which changes nothing.
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
