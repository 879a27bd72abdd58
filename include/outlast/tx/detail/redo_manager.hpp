// What the wait-free engines of the redo kind have in common: redo_opt, and the baselines redo and
// redo_timed.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/attached_manager.hpp>
#include <outlast/tx/detail/helped_request.hpp>
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

/// What the engines of the redo kind have in common.
template <class Engine, domain::persistence_domain D, engine_kind kind>
class redo_manager : public attached_manager<Engine, redo_session<D>, D, kind> {
  using base_type = attached_manager<Engine, redo_session<D>, D, kind>;

 public:
  /// Rule R1 of manager.hpp is meant: operations are copied, and other threads run them.
  static constexpr bool runs_after_return = true;

  /// Makes all operations durable that have returned before the call, of all threads. Without
  /// options.max_unsynced_time they are durable already. Blocks until the device has finished.
  /// Throws error{io_failure}; inside an operation error{refused}.
  void sync() {
    if (current() != nullptr) {
      throw error(errc::refused, this->session().pool().path(),
                  "sync() is called inside of a transaction; call it afterwards");
    }
    this->session().sync();
  }

  /// What survives what, and how much a crash may take away, in a few sentences: for users and
  /// their logs.
  [[nodiscard]] std::string guarantee() const {
    const auto max_unsynced_time = this->session().max_unsynced_time();
    const auto& pool = this->session().pool();
    if (max_unsynced_time.count() == 0) {
      return "What an update or a read answered survives. " + pool.guarantee();
    }
    return "What an update or a read answered survives the death of the process. A kernel panic or "
           "a power cut loses at most the updates of the last " +
           std::to_string(max_unsynced_time.count()) +
           " microseconds and of the time that a device sync takes, all from some moment on, and "
           "nothing that sync() has covered: '" +
           pool.path() + "' is written through logs, as far as their device keeps its word.";
  }

  /// Bytes that remembered transitions take in ordinary memory, with what updates need besides. A
  /// large transaction takes about 2.5 times the lines that it writes, and half of that until the
  /// next one.
  [[nodiscard]] std::size_t ring_bytes() const noexcept { return this->session().ring_bytes(); }
  /// Bytes that replicas take there, and the pool's log, if there is one. `pages_end`: where the
  /// heap's used pages end in a replica. May wait for the device.
  [[nodiscard]] std::size_t memory_behind_log(std::size_t pages_end) const {
    return this->session().memory_behind_log(pages_end);
  }

  // ---- For verification ----

  /// Of the calling thread's last update; 0 if there was none since it asked last.
  [[nodiscard]] std::uint64_t take_last_commit() const {
    return this->session().take_last_commit();
  }
  /// A crash now would keep transitions up to this one, or more.
  [[nodiscard]] std::uint64_t durable_commit() const { return this->session().durable_commit(); }

 protected:
  redo_manager(basic_pool<D>& pool, std::string_view name, const options& wanted)
      : base_type(pool, name, wanted) {
    this->session().configure(wanted);
  }
  ~redo_manager() = default;

 private:
  friend class manager_calls<Engine>;

  template <class Result, class F>
  Result run_update(F&& f) {
    using request = helped_request_of<D, Result, std::remove_cvref_t<F>>;
    // Not make_unique: an owner of each request's own type is compiled for each operation.
    const auto out =
        this->session().update(std::unique_ptr<helped_request<D>>(new request(std::forward<F>(f))));
    if (out->failure != nullptr) std::rethrow_exception(out->failure);
    if constexpr (!std::is_void_v<Result>) return out->template kept<Result>();
  }
};

}  // namespace detail

}  // namespace outlast::tx
