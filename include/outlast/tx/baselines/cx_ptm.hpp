// The wait-free engine that replays operations: a queue orders them, and each replica runs all of
// them. [Cor20]
//
// When to use: operations that are short and write much. To run such an operation again costs less
// than to log its writes. When not to: operations that search for long, since each one runs once in
// every replica in use; tx::redo_opt replays only their writes.
//
// The protocol, CX: docs/papers/universal-constructions.md. A thread appends its update to the
// queue, and takes a replica that no thread uses. There it runs all operations that the replica has
// missed, up to its own, and flushes the lines that they wrote. It then moves the durable word to
// that replica, unless the word names a replica that has missed no more.
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/root/root_session.hpp>
#include <outlast/tx/baselines/detail/cx_session.hpp>
#include <outlast/tx/detail/attached_session.hpp>
#include <outlast/tx/detail/changed_pages.hpp>
#include <outlast/tx/detail/record.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace outlast::tx {

namespace detail {

/// Stores are noted by line. So an operation can be undone, and each line that was written since
/// the last flush of the replica is flushed once.
template <domain::persistence_domain D>
class cx_ptm_session final : public cx_session<cx_ptm_session<D>, D> {
  using base_type = cx_session<cx_ptm_session<D>, D>;

 public:
  cx_ptm_session(basic_pool<D>& in, const attached_root& root, const std::string& name,
                 engine_kind engine, const options& wanted)
      : base_type(in, root, name, engine, wanted), changed_(this->bytes()) {}

 private:
  friend base_type;
  using typename base_type::node;
  using typename base_type::replica_type;

  [[nodiscard]] cx_effect run(unsigned i, replica_type& in, const node& operation, outcome& out) {
    transaction update = this->writing(i, in.unflushed);
    operation.run(update, out);
    if (out.failure != nullptr) return cx_effect::none;
    note_changes(in, operation.number.load(std::memory_order_relaxed));
    return cx_effect::whole;
  }

  /// Notes the pages that the last operation wrote, before the number of the replica includes it.
  /// So all pages up to the number of a replica are noted, for every replica.
  void note_changes(const replica_type& in, std::uint64_t number) {
    in.unflushed.for_each_of_operation([&](line_number line) { changed_.note(line, number); });
  }

  [[nodiscard]] bool undo(unsigned i, replica_type& in) {
    transaction update = this->writing(i, in.unflushed);
    update.undo_operation();
    return true;
  }

  [[nodiscard]] bool copy(unsigned from, unsigned to, replica_type& in, bool is_known) {
    if (is_known) {
      this->copy_changed(from, to, changed_, in.number.load(std::memory_order_relaxed));
    } else {
      this->copy_differing(from, to);
    }
    return true;
  }

  void flush_written(unsigned i, replica_type& in) {
    in.unflushed.for_each([&](line_number line) { this->flush_line(i, line); });
    this->stage_lines();
    in.unflushed.clear();
  }

  changed_pages<D> changed_;  // by operations
};

}  // namespace detail

/// Wait-free transactions that run once in each replica. [Cor20]
///
/// Thread-safety: all members may be called concurrently. An update is copied. Several threads may
/// run the copy concurrently, also after the caller has returned. Its captures must be copyable.
/// They are destroyed once no thread runs the copy, and after 1024 later updates. A read runs once,
/// on the caller's thread.
/// Progress: with options.replicas >= 2 N for N threads all members are wait-free, apart from the
/// operations themselves and the growth of the file. With fewer replicas an update waits until one
/// is free.
/// Durability: when update() or read() returns, its result and all updates on which it depends are
/// durable.
/// Requires: rule R2 of manager.hpp. Replicas differ for ever after an operation that does not do
/// the same in each. The first run of an operation decides whether it throws.
/// Space: the data, times the maximum number of replicas in use at one time. Memory: the last 1024
/// operations with their captures, and the lines of each replica that are not flushed.
template <domain::persistence_domain D = domain::native>
class cx_ptm : public detail::manager_calls<cx_ptm<D>> {
 public:
  using pool_type = basic_pool<D>;
  using domain_type = D;

  /// The name of the engine, for reports.
  [[nodiscard]] static constexpr std::string_view engine_name() noexcept { return "cx_ptm"; }

  static constexpr bool runs_after_return = true;

  /// Attaches the manager `name` of `pool`, and creates an empty one if there is none. `name`: at
  /// most 44 bytes. After a reopening, the first update in each replica writes the lines that
  /// differ. Throws error{root_type_mismatch} if another engine owns the manager,
  /// error{header_damaged, newer_version, already_open, already_exists, bad_argument, refused,
  /// too_small}, corruption, out_of_space.
  cx_ptm(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : session_(pool, name, wanted, true, detail::engine_kind::cx_ptm) {}

 private:
  friend class detail::manager_calls<cx_ptm<D>>;
  friend class detail::read_calls<cx_ptm<D>>;

  template <class Result, class F>
  Result run_update(F&& f) {
    return session_->template run_update<Result>(std::forward<F>(f));
  }
  template <class Result, class F>
  Result run_read(F&& f) {
    return session_->read(f);
  }
  [[nodiscard]] const void* id() const noexcept { return session_.id(); }
  [[nodiscard]] std::string where() const { return session_.where(); }

  detail::attached_session<detail::cx_ptm_session<D>, D> session_;
};

static_assert(transaction_manager<cx_ptm<>>);

}  // namespace outlast::tx
