// The member by which a structure's handle holds its root: attached when the handle is made, given
// back when the handle is destroyed.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>

#include <memory>
#include <string_view>

namespace outlast::roots {

/// The only use of a root's session in this process. The session stays with the pool when the use
/// ends, so that attaching the root again costs nothing.
///
/// A handle that has one as a member needs no destructor, and can be neither copied nor moved. If
/// the constructor of the handle throws after the root was attached, the root is given back too.
template <class Session>
class attached {
 public:
  /// Attaches the root `name` in `pool`. The first use in this process makes the session as
  /// `Session(pool, attached_root, arguments...)`, which creates or recovers the structure. Throws
  /// as root_sessions::attach().
  template <domain::persistence_domain Domain, class... Arguments>
  attached(basic_pool<Domain>& pool, std::string_view name, const root_type& type,
           Arguments&&... arguments)
      : session_(pool.template service<root_sessions<Domain>>().template attach<Session>(
            name, type, [&](basic_pool<Domain>& in, const attached_root& root) {
              return std::make_shared<Session>(in, root, arguments...);
            })) {}
  ~attached() { session_->release(); }
  attached(const attached&) = delete;
  attached& operator=(const attached&) = delete;

  [[nodiscard]] Session* operator->() const noexcept { return session_.get(); }
  [[nodiscard]] Session& operator*() const noexcept { return *session_; }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace outlast::roots
