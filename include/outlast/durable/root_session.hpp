// The volatile half of a root: what hangs off a pool while a structure in it is in use.
//
// A structure's handle comes and goes; its session (allocator caches, directory, counts) stays with
// the pool until the pool is closed, so that attaching the same root again costs nothing, and so that
// a clean close can save what spares the next opener a recovery.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/pool/pool.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::durable {

/// How a structure wants its root to be found.
struct root_type {
  std::string name;           ///< for messages: what the root holds
  std::uint64_t fingerprint;  ///< equal exactly for types that can read each other's bytes
};

/// What every session has. A structure derives its own volatile state from it.
/// Destruction writes nothing persistent: that is what a crash does.
template <domain::persistence_domain D>
class root_session {
 public:
  using pool_type = basic_pool<D>;
  using attached_root = typename pool_type::attached_root;

  root_session(pool_type& pool, const attached_root& root)
      : pool_(pool), root_(root), arena_(pool.pages(), root.index) {}
  virtual ~root_session() = default;
  root_session(const root_session&) = delete;
  root_session& operator=(const root_session&) = delete;

  /// At a clean close: persist what spares the next opener a recovery. No operation runs.
  virtual void before_close() = 0;
  /// Frees every retired node. No operation runs.
  virtual void collect_all() = 0;
  /// In the child of a fork: no operation may begin any more.
  virtual void forbid() noexcept = 0;

  /// The structure's handle is gone. Nothing to do if the pool is closed, or in a forked child.
  void handle_gone() noexcept {
    if (!attached_) return;
    try {
      pool_.detach_root(root_.index, false);
    } catch (const error&) {
      // A forked child: the root belongs to the parent, and so does the attachment.
    }
  }
  /// The pool lets go of its roots.
  void pool_gone() noexcept { attached_ = false; }

  [[nodiscard]] pool_type& pool() noexcept { return pool_; }
  [[nodiscard]] alloc::arena<D>& arena() noexcept { return arena_; }
  [[nodiscard]] const attached_root& root() const noexcept { return root_; }

 private:
  pool_type& pool_;
  attached_root root_;
  alloc::arena<D> arena_;
  bool attached_ = true;
};

/// All sessions of a pool: a service of it.
/// Thread-safety: all members may be called concurrently, except `close_all`.
template <domain::persistence_domain D>
class root_sessions {
 public:
  using pool_type = basic_pool<D>;

  explicit root_sessions(pool_type& pool) : pool_(pool) {
    pool.on_close([this] { close_all(); });
    pool.on_fork_child([this] {
      for (auto& [index, session] : sessions_) {
        session->arena().forbid();
        session->forbid();
      }
    });
  }

  ~root_sessions() {
    for (auto& [index, session] : sessions_) session->pool_gone();
  }
  root_sessions(const root_sessions&) = delete;
  root_sessions& operator=(const root_sessions&) = delete;

  /// Attaches the root `name` and returns its session. `make(pool, attached_root)` makes it where this
  /// process has none yet: that is where creation and recovery happen. Throws what they throw; the
  /// root is then not attached.
  template <class Session, class Make>
  [[nodiscard]] std::shared_ptr<Session> attach(std::string_view name, const root_type& type,
                                                Make&& make) {
    const std::lock_guard lock(mutex_);
    const auto root = pool_.attach_root(name, type.name, type.fingerprint, true);
    try {
      return find_or_make<Session>(name, root, std::forward<Make>(make));
    } catch (...) {
      pool_.detach_root(root.index, false);
      throw;
    }
  }

 private:
  template <class Session, class Make>
  std::shared_ptr<Session> find_or_make(std::string_view name,
                                        const typename pool_type::attached_root& root,
                                        Make&& make) {
    const auto found = sessions_.find(root.index);
    if (found == sessions_.end()) {
      auto session = make(pool_, root);
      sessions_.emplace(root.index, session);
      return session;
    }
    auto session = std::dynamic_pointer_cast<Session>(found->second);
    if (session == nullptr) {
      throw error(errc::root_type_mismatch, pool_.path(),
                  "root '" + std::string(name) +
                      "' was attached earlier in this process under another policy; close the pool "
                      "before attaching it under this one");
    }
    return session;
  }

  void close_all() {
    for (auto& [index, session] : sessions_) session->collect_all();
    for (auto& [index, session] : sessions_) {
      session->before_close();
      session->arena().save_occupancy();
      pool_.detach_root(index, true);
      session->pool_gone();
    }
    sessions_.clear();
  }

  pool_type& pool_;
  std::mutex mutex_;
  std::map<std::uint16_t, std::shared_ptr<root_session<D>>> sessions_;
};

}  // namespace outlast::durable
