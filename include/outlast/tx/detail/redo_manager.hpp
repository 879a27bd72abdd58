// The common base of the wait-free redo engines: redo_opt, and the baselines redo and redo_timed.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/attached_session.hpp>
#include <outlast/tx/detail/helped_request.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/detail/redo_session.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::tx {

namespace detail {

/// See redo_opt. `Engine` derives from it.
template <class Engine, domain::persistence_domain D, engine_kind kind>
class redo_manager : public manager_calls<Engine> {
 public:
  using pool_type = basic_pool<D>;
  using domain_type = D;

  /// The engine that the record of the manager names.
  static constexpr engine_kind engine = kind;
  /// Rule R1 of manager.hpp applies: operations are copied, and other threads run them.
  static constexpr bool runs_after_return = true;

  /// The name of the engine, for reports.
  [[nodiscard]] static constexpr std::string_view engine_name() noexcept { return name_of(kind); }

  /// Makes durable all updates, of all threads, that have returned before the call. Waits for the
  /// device. Without a bound on unsynced time it does nothing: updates are durable when they
  /// return. Throws error{io_failure}; error{refused} inside an operation.
  void sync() {
    if (current() != nullptr) {
      throw error(errc::refused, session_.where(),
                  "sync() is called inside of a transaction; call it afterwards");
    }
    session_->sync();
  }

  /// Returns a few sentences, for users and their logs, about the failures that updates survive and
  /// about the updates that a crash can lose.
  [[nodiscard]] std::string guarantee() const {
    const auto max_unsynced_time = session_->max_unsynced_time();
    const auto& pool = session_->pool();
    if (max_unsynced_time.count() == 0) {
      return "The results of updates and reads survive. " + pool.guarantee();
    }
    return "The results of updates and reads survive the death of the process. A kernel panic or a "
           "power cut loses at most the updates of the last " +
           std::to_string(max_unsynced_time.count()) +
           " microseconds and of the duration of a device sync. The lost updates are the last "
           "ones, and none that sync() has covered: '" +
           pool.path() + "' is written through logs, whose device must honor flushes.";
  }

  /// Returns the bytes of ordinary memory for the last commits, and for updates. A large
  /// transaction takes about 2.5 times the lines that it writes, and half of that until the next
  /// one.
  [[nodiscard]] std::size_t ring_bytes() const noexcept { return session_->ring_bytes(); }
  /// Returns the bytes of ordinary memory for replicas, and for the pool's journal, if there is
  /// one. `pages_end`: where the pages in use end in a replica. Can wait for the device.
  [[nodiscard]] std::size_t memory_behind_log(std::size_t pages_end) const {
    return session_->memory_behind_log(pages_end);
  }

  // ---- For verification ----

  /// Returns the commit of the calling thread's last update; 0 if there was none since the last
  /// call.
  [[nodiscard]] std::uint64_t take_last_commit() const { return session_->take_last_commit(); }
  /// A crash now would keep the commits up to this one, or more.
  [[nodiscard]] std::uint64_t durable_commit() const { return session_->durable_commit(); }

 protected:
  redo_manager(basic_pool<D>& pool, std::string_view name, const options& wanted)
      : session_(pool, name, wanted, true, kind) {
    session_->configure(wanted);
  }
  ~redo_manager() = default;

 private:
  friend class manager_calls<Engine>;
  friend class read_calls<Engine>;

  template <class Result, class F>
  Result run_update(F&& f) {
    using request = helped_request_of<D, Result, std::remove_cvref_t<F>>;
    // Not make_unique: an owner of each request's own type is compiled for each operation.
    const auto out =
        session_->update(std::unique_ptr<helped_request<D>>(new request(std::forward<F>(f))));
    if (out->failure != nullptr) std::rethrow_exception(out->failure);
    if constexpr (!std::is_void_v<Result>) return out->template kept<Result>();
  }
  template <class Result, class F>
  Result run_read(F&& f) {
    return session_->read(f);
  }
  [[nodiscard]] const void* id() const noexcept { return session_.id(); }
  [[nodiscard]] std::string where() const { return session_.where(); }

  attached_session<redo_session<D>, D> session_;
};

}  // namespace detail

}  // namespace outlast::tx
