// What managers of fields have in common: the root that they attach.
#pragma once

#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/replica_session.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace outlast::tx::detail {

/// The part of a manager `Engine` that says which session it has: Session(pool, root, name, kind,
/// options), which derives from replica_session<D>, and whose read(f) runs f(transaction&).
/// Thread-safety: all members may be called concurrently. Writes nothing when it is destroyed.
template <class Engine, class Session, domain::persistence_domain D, engine_kind kind>
class attached_manager : public manager_calls<Engine> {
 public:
  using pool_type = basic_pool<D>;
  using domain_type = D;

  /// For reports.
  [[nodiscard]] static constexpr std::string_view engine_name() noexcept { return name_of(kind); }

  attached_manager(const attached_manager&) = delete;
  attached_manager& operator=(const attached_manager&) = delete;

 protected:
  /// As Engine's.
  attached_manager(pool_type& pool, std::string_view name, const options& wanted)
      : session_(attach(pool, name, wanted)) {}
  ~attached_manager() { session_->release(); }

  [[nodiscard]] Session& session() const noexcept { return *session_; }

 private:
  friend class manager_calls<Engine>;

  static std::shared_ptr<Session> attach(pool_type& pool, std::string_view name,
                                         const options& wanted) {
    return roots::validated(
        pool.template service<roots::root_sessions<D>>().template attach<Session>(
            name, {"transactions", 0x74786d67'0001},
            [&](auto& in, const auto& root) {
              return std::make_shared<Session>(in, root, std::string(name), kind, wanted);
            }),
        [&](const Session& found) { found.require_made_as(wanted); });
  }

  [[nodiscard]] const void* id() const noexcept {
    return static_cast<const replica_session<D>*>(session_.get());
  }

  [[nodiscard]] std::string where() const { return session_->pool().path(); }

  template <class Result, class F>
  Result run_read(F&& f) {
    return session_->read(f);
  }

  std::shared_ptr<Session> session_;
};

}  // namespace outlast::tx::detail
