// The session of an attached transaction manager, held by its handle.
#pragma once

#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/detail/replica_session.hpp>
#include <outlast/tx/options.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace outlast::tx::detail {

/// Attaches a session when it is constructed, and releases it when it is destroyed, which writes
/// nothing. `Session` derives from replica_session<D>, and is made as Session(pool, root, name,
/// arguments..., options).
///
/// Thread-safety: constant members may be called concurrently.
template <class Session, domain::persistence_domain D>
class attached_session {
 public:
  /// `is_relocatable`: the pool may be mapped at another address than when it was created.
  template <class... Arguments>
  attached_session(basic_pool<D>& pool, std::string_view name, const options& wanted,
                   bool is_relocatable, Arguments... arguments)
      : session_(roots::validated(
            pool.template service<roots::root_sessions<D>>().template attach<Session>(
                name, {"transactions", 0x74786d67'0001, is_relocatable},
                [&](auto& in, const auto& root) {
                  return std::make_shared<Session>(in, root, std::string(name), arguments...,
                                                   wanted);
                }),
            [&](const Session& found) { found.require_made_as(wanted); })) {}
  ~attached_session() { session_->release(); }
  attached_session(const attached_session&) = delete;
  attached_session& operator=(const attached_session&) = delete;

  [[nodiscard]] Session& operator*() const noexcept { return *session_; }
  [[nodiscard]] Session* operator->() const noexcept { return session_.get(); }

  /// The engine as its transactions name it.
  [[nodiscard]] const void* id() const noexcept {
    return static_cast<const replica_session<D>*>(session_.get());
  }
  /// The path of the pool.
  [[nodiscard]] std::string where() const { return session_->pool().path(); }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace outlast::tx::detail
