// The session of an attached transaction manager, held by its handle.
#pragma once

#include <outlast/pool/pool.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/replica_session.hpp>
#include <outlast/tx/options.hpp>

#include <string>
#include <string_view>

namespace outlast::tx::detail {

/// The root of a transaction manager, attached as long as the handle exists. `Session` derives from
/// replica_session<D>, and is made as Session(pool, root, name, arguments..., options).
///
/// Thread-safety: constant members may be called concurrently.
template <class Session, domain::persistence_domain D>
class attached_session : public roots::attached<Session> {
 public:
  /// `is_relocatable`: the pool may be mapped at another address than when it was created. Throws
  /// error{bad_argument} if the manager was created with other options than `wanted`.
  template <class... Arguments>
  attached_session(basic_pool<D>& pool, std::string_view name, const options& wanted,
                   bool is_relocatable, Arguments... arguments)
      : roots::attached<Session>(
            pool, name, {std::string(manager_root_name), manager_fingerprint, is_relocatable},
            std::string(name), arguments..., wanted) {
    (*this)->require_made_as(wanted);
  }

  /// The engine as its transactions name it.
  [[nodiscard]] const void* id() const noexcept {
    return static_cast<const replica_session<D>*>(&**this);
  }
  /// The path of the pool.
  [[nodiscard]] std::string where() const { return (*this)->pool().path(); }
};

}  // namespace outlast::tx::detail
