// The wait-free engines: a replica for each thread that updates, and one durable word that names
// the one that counts.
//
// When to use: nobody may wait for a thread that has stopped, in an update or a read. When not to:
// where that may be, left_right takes half of the space and fewer instructions.
//
// The protocol: docs/papers/universal-constructions.md. A thread that wants an update takes a
// replica that nobody uses, repeats in it what the last transitions wrote, runs all operations that
// wait, flushes what it has written, and tries to let the durable word name its replica. If another
// one is faster it takes its batch back; after two of those its operation is done.
//
// Three engines, each with one step more, so that one can see what the step brings:
//
//   engine      replicas                       lines that are repeated or taken back are flushed
//   redo        the one that misses least      at once, as often as they are written
//   redo_timed  one of two for 64 rounds of    the same
//               backoff, then as redo
//   redo_opt    as redo_timed                  with the next batch, each once with what that writes
//                                              (of long logs at once: few lines meet there)
//
// Redo, RedoTimed and RedoOpt of [Cor20] take the same steps; ours are better in what they share:
// logs hold lines, so that stores to one line are logged, repeated and flushed together under all
// three (in the paper under RedoOpt alone: redo and redo_timed log each store); a replica that has
// missed too much gets the pages that changed, not a copy. RedoTimed waits for a measured time, we
// for a number of rounds, since there is no clock in algorithms. RedoOpt's copies past the caches
// are not here: what is copied was just compared, or is little.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/domain/native.hpp>
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

  /// What has returned by now, of whatever thread, is durable at return. Under options.window, or
  /// else it is so anyway. Waits for the device. Throws error{io_failure}; inside of an operation
  /// error{refused}.
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
    const auto window = this->session().window();
    const auto& pool = this->session().pool();
    if (window.count() == 0) {
      return "What an update or a read answered survives. " + pool.guarantee();
    }
    return "What an update or a read answered survives the death of the process. A kernel panic or "
           "a power cut loses at most the updates of the last " +
           std::to_string(window.count()) +
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
  [[nodiscard]] std::uint64_t take_last_transition() const {
    return this->session().take_last_transition();
  }
  /// A crash now would keep transitions up to this one, or more.
  [[nodiscard]] std::uint64_t durable_transition() const {
    return this->session().durable_transition();
  }

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

/// Wait-free transactions by a replica for each thread. [Cor20]
///
/// When to use: to compare with; redo_opt flushes less in all cases, and writes fewer replicas.
/// Thread-safety: all members may be called concurrently. An update is copied: other threads may
/// run the copy, several at a time, also when its caller has returned; its captures are copyable,
/// and are destroyed when nobody runs it. Each of them runs a copy of its own, unless the update is
/// const to call. A read runs once, on its caller's thread.
/// Progress: with options.replicas >= 2 N for N threads all is wait-free, apart from the
/// operations themselves and the growth of the file; so it is with N + 1 unless a thread stops
/// while it copies a stale replica, or in a read that updates have overtaken four times: it keeps
/// two. With fewer an update blocks: it waits until a replica is free. The growth of the file:
/// while a thread has the file system make space, updates that need more than there was, or one
/// more replica, wait on a mutex. Durable at return: what update() and read() answered, and what
/// that depends on.
/// Space: the data, times the replicas that were ever needed at a time. Memory: the lines of the
/// last 128 transitions, three times, of which about 16 MiB are kept besides the last one's.
template <domain::persistence_domain D = domain::native>
class redo : public detail::redo_manager<redo<D>, D, detail::engine_kind::redo> {
  using base_type = detail::redo_manager<redo<D>, D, detail::engine_kind::redo>;

 public:
  /// Attaches the manager `name` of `pool`; creates it, empty, if there is none. `name`: at most 44
  /// bytes. After a reopening an update that first takes a replica writes what differs. Throws
  /// error{root_type_mismatch} if another engine owns it, error{header_damaged, newer_version,
  /// already_open, already_exists, bad_argument, refused, too_small}, corruption, out_of_space.
  redo(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : base_type(pool, name, wanted) {}
};

/// The same, but an update keeps to the first two replicas for as long as 64 rounds of backoff
/// last: they stay up to date, others need not be written, and operations that wait are run
/// together. [Cor20]
///
/// Thread-safety, progress, durability: as redo's.
template <domain::persistence_domain D = domain::native>
class redo_timed : public detail::redo_manager<redo_timed<D>, D, detail::engine_kind::redo_timed> {
  using base_type = detail::redo_manager<redo_timed<D>, D, detail::engine_kind::redo_timed>;

 public:
  /// As redo's.
  redo_timed(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : base_type(pool, name, wanted) {}
};

/// The same, but a line that was repeated in a replica is flushed with the batch that follows, once
/// with what that writes. The one to take. [Cor20]
///
/// Thread-safety, progress, durability: as redo's.
template <domain::persistence_domain D = domain::native>
class redo_opt : public detail::redo_manager<redo_opt<D>, D, detail::engine_kind::redo_opt> {
  using base_type = detail::redo_manager<redo_opt<D>, D, detail::engine_kind::redo_opt>;

 public:
  /// As redo's.
  redo_opt(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : base_type(pool, name, wanted) {}
};

static_assert(transaction_manager<redo<>>);
static_assert(transaction_manager<redo_timed<>>);
static_assert(transaction_manager<redo_opt<>>);

}  // namespace outlast::tx
