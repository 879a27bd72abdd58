// The volatile state of a root, which exists while a structure in the pool is in use.
//
// A structure's handle can come and go. Its session (allocator caches, directory, counts) stays
// with the pool until the pool is closed. So attaching the same root again costs nothing, and a
// clean close can save data that spares the next opener a recovery.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/pool/file/no_fork.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/usage.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace outlast::roots {

/// The identity of a structure's root.
struct root_type {
  std::string name;               ///< for messages: what the root holds
  std::uint64_t fingerprint = 0;  ///< equal exactly for types that can read each other's bytes
  bool relocatable = true;        ///< it is also found where the pool is mapped elsewhere
  /// The operations wait, one by one, until they are durable. Pools on a disk reject such roots
  /// unless they were opened for them.
  bool waits_in_operations = true;
};

/// The base of all sessions. A structure derives its own volatile state from it. Destruction writes
/// nothing persistent, like a crash.
template <domain::persistence_domain D>
class root_session {
 public:
  using pool_type = basic_pool<D>;

  /// Makes the session of `root`. `mode` is the way in which recovery finds the root's blocks.
  root_session(pool_type& pool, const attached_root& root,
               pool_format::recovery_mode mode = pool_format::recovery_mode::trace)
      : pool_(pool), root_(root), arena_(pool.pages(), root.index, mode) {}
  virtual ~root_session() = default;
  root_session(const root_session&) = delete;
  root_session& operator=(const root_session&) = delete;

  /// Saves, at a clean close, the data that spares the next opener a recovery. Returns false if a
  /// recovery is needed all the same. Requires: no operation runs.
  [[nodiscard]] virtual bool before_close() = 0;
  /// Frees every retired node of the pool. Requires: no operation in the pool runs.
  virtual void collect_all() = 0;
  /// Ends the use of the session, because the root is about to be dropped. At return only calls of
  /// its arena refer to the session. Requires: no operation on this root runs; others may run. If
  /// it throws, it has no effect.
  virtual void before_drop() {}
  /// Forbids operations. Called in the child of a fork.
  virtual void forbid() noexcept = 0;

  /// Ends the use by the structure's handle. The session stays with the pool.
  void release() noexcept { in_use_.store(false, std::memory_order_release); }

  [[nodiscard]] pool_type& pool() noexcept { return pool_; }
  [[nodiscard]] alloc::arena<D>& arena() noexcept { return arena_; }
  [[nodiscard]] const attached_root& root() const noexcept { return root_; }
  /// Returns the root's published object. Throws corruption unless a block of the root that can
  /// hold a `T` begins there.
  template <class T>
  [[nodiscard]] T* object() const {
    auto* const at = reinterpret_cast<std::byte*>(pool_.base() + root_.object_offset);
    if (root_.object_offset % alignof(T) == 0 &&
        pool_.pages().block_bytes(at, root_.index) >= sizeof(T)) {
      return reinterpret_cast<T*>(at);
    }
    throw corruption(pool_.path(), "root " + std::to_string(root_.index) +
                                       " names an object at offset " +
                                       std::to_string(root_.object_offset) +
                                       ", where no block of it can hold one; restore a backup");
  }

 private:
  template <domain::persistence_domain>
  friend class root_sessions;

  pool_type& pool_;
  attached_root root_;
  root_type type_;
  alloc::arena<D> arena_;
  std::atomic<bool> in_use_{true};
};

/// All sessions of a pool: a service of the pool. Thread-safety: attach() may be called
/// concurrently.
template <domain::persistence_domain D>
class root_sessions {
 public:
  using pool_type = basic_pool<D>;
  using session_map = std::map<std::string, std::shared_ptr<root_session<D>>, std::less<>>;

  explicit root_sessions(pool_type& pool) : pool_(pool) {
    // The pool may keep some of these although what follows fails.
    const std::weak_ptr<bool> alive = alive_;
    pool.on_close([this, alive] {
      if (!alive.expired()) close_all();
    });
    pool.on_drop([this, alive](std::string_view name) {
      if (!alive.expired()) give_up(name);
    });
    pool.on_trim([this, alive] {
      if (!alive.expired()) trim_all();
    });
    pool.on_fork_child([this, alive] {
      if (!alive.expired()) forbid_all();
    });
  }
  root_sessions(const root_sessions&) = delete;
  root_sessions& operator=(const root_sessions&) = delete;

  /// Attaches the root `name` and returns its session. If this process has none yet, `make(pool,
  /// attached_root)` makes it, which creates or recovers the structure. Throws what they throw; the
  /// root is then not attached. Throws error{already_open} while another handle is in use, and what
  /// pool.require_per_operation_durability() throws, before any change.
  template <class Session, class Make>
  [[nodiscard]] std::shared_ptr<Session> attach(std::string_view name, const root_type& type,
                                                Make&& make) {
    if (type.waits_in_operations) pool_.require_per_operation_durability();
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(name);
    if (found != sessions_.end()) return attach_again<Session>(name, type, found->second);
    const attached_root root =
        pool_.attach_root(name, type.name, type.fingerprint, type.relocatable);
    try {
      // The content of a root that was closed cleanly in place is never changed by an attachment.
      const bool is_whole = root.state == root_state::clean && root.pointers_base == pool_.base();
      if (is_whole) pool_.root_readable(root.index);
      std::shared_ptr<Session> session = make(pool_, root);
      if (!is_whole) pool_.root_readable(root.index);
      session->type_ = type;
      const pool_detail::no_fork now;
      sessions_.emplace(name, session);
      return session;
    } catch (...) {
      pool_.detach_root(root.index, false);
      throw;
    }
  }

  /// Returns the pool's service `S`, whose constructor attaches roots. The first request for such a
  /// service must be made here: the pool makes services under its mutex, which attach() locks
  /// second.
  template <class S>
  [[nodiscard]] S& service() {
    const std::lock_guard lock(mutex_);
    return pool_.template service<S>();
  }

  /// Returns the space of the pool by its roots and regions, as basic_pool::usage(). The blocks in
  /// use of attached roots include those that threads cache, and retired nodes. Waits while another
  /// thread attaches a root, and the reverse.
  [[nodiscard]] pool_usage usage() {
    const std::lock_guard lock(mutex_);
    std::unordered_map<std::uint32_t, const alloc::arena<D>*> arenas;
    for (auto& [name, session] : sessions_) {
      arenas.emplace(session->root().index, &session->arena());
    }
    return pool_.usage([&](std::uint32_t first, pool_format::run_word run) {
      const auto found = arenas.find(run.owner);
      return found == arenas.end() ? std::optional<std::uint64_t>()
                                   : found->second->in_use_bytes(first, run);
    });
  }

  /// Removes the root `name` and all its blocks. Durable at return. Requires: no handle on the root
  /// is in use; operations on other roots may run. Throws error{not_found, already_open}. As
  /// pool.drop_root(name).
  void drop(std::string_view name) { pool_.drop_root(name); }

 private:
  /// Ends the session of a root that is about to be dropped. Its retired nodes are forgotten with
  /// all its blocks. Throws error{already_open} and what before_drop() throws.
  void give_up(std::string_view name) {
    const std::shared_ptr<root_session<D>> last = use_alone(name);
    if (last == nullptr) return;
    try {
      // Without the mutex: what is waited for may be about to attach a root.
      last->before_drop();
      last->arena().end_calls();
    } catch (...) {
      last->release();
      throw;
    }
    const std::lock_guard lock(mutex_);
    pool_.detach_root(last->root().index, false);
    forget(sessions_.find(name));
  }

  /// Marks the session of that name as used by the caller and returns it, or nullptr if there is
  /// none.
  std::shared_ptr<root_session<D>> use_alone(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(name);
    if (found == sessions_.end()) return nullptr;
    if (found->second->in_use_.exchange(true, std::memory_order_acq_rel)) throw in_use(name);
    return found->second;
  }

  template <class Session>
  std::shared_ptr<Session> attach_again(std::string_view name, const root_type& type,
                                        const std::shared_ptr<root_session<D>>& kept) {
    if (kept->type_.fingerprint != type.fingerprint) {
      throw error(errc::root_type_mismatch, pool_.path(),
                  "root '" + std::string(name) + "' holds a " + kept->type_.name + ", not a " +
                      type.name + "; attach it as what it is, or choose another name");
    }
    auto session = std::dynamic_pointer_cast<Session>(kept);
    if (session == nullptr) {
      throw error(errc::root_type_mismatch, pool_.path(),
                  "root '" + std::string(name) +
                      "' was attached earlier in this process under another policy; close the pool "
                      "before attaching it under this one");
    }
    if (session->in_use_.exchange(true, std::memory_order_acq_rel)) throw in_use(name);
    return session;
  }

  [[nodiscard]] error in_use(std::string_view name) const {
    return {errc::already_open, pool_.path(),
            "root '" + std::string(name) +
                "' is in use by another object of this process; share that one between threads"};
  }

  void close_all() {
    for (auto& [name, session] : sessions_) session->collect_all();
    for (auto& [name, session] : sessions_) {
      const bool clean = session->before_close() && session->arena().has_right_occupancy();
      if (clean) session->arena().save_occupancy();
      pool_.detach_root(session->root().index, clean);
    }
    while (!sessions_.empty()) forget(sessions_.begin());
  }

  /// Returns the pages that have no block in use. With the mutex, so that no root is dropped.
  void trim_all() {
    const std::lock_guard lock(mutex_);
    for (auto& [name, session] : sessions_) (void)session->arena().trim();
  }

  /// Ends the session while no fork runs, whose handler could miss it.
  void forget(typename session_map::iterator at) {
    typename session_map::node_type last;
    {
      const pool_detail::no_fork now;
      last = sessions_.extract(at);
    }
  }

  void forbid_all() noexcept {
    for (auto& [name, session] : sessions_) {
      session->arena().forbid();
      session->forbid();
    }
  }

  pool_type& pool_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::recursive_mutex mutex_;  // before the pool's
  session_map sessions_;        // changed with no_fork
};

/// Returns the space of the pool by its roots and regions, with the blocks in use of the roots that
/// this process has attached. As root_sessions::usage().
template <domain::persistence_domain D>
[[nodiscard]] pool_usage usage_of(basic_pool<D>& pool) {
  return pool.template service<root_sessions<D>>().usage();
}

// In the library.
extern template class root_session<domain::native>;
extern template class root_sessions<domain::native>;

}  // namespace outlast::roots
