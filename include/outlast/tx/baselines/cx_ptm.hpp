// The wait-free engine that repeats operations: a queue gives them an order, and each replica runs
// all of them.
//
// When to use: operations that are short to run and write much; then running one again costs less
// than logging what it wrote. When not to: operations that search for long, since each runs once in
// every replica that is in use; tx::redo repeats their writes alone.
//
// The protocol: docs/papers/universal-constructions.md. A thread that wants an update puts it into
// the queue, takes a replica that nobody uses, runs there all operations that it has not seen up to
// its own, flushes the lines that were written, and lets the durable word name that replica unless
// it names one that has seen as much.
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

/// Stores are noted by line: an operation can be taken back, and each line that was written since
/// the replica was flushed last is flushed once.
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

  /// Of the operation that ran last. Before the replica counts as one that has seen it: so the
  /// pages that lead to a replica's number are noted, whichever replica that is.
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

/// Wait-free transactions that are run once in each replica. [Cor20]
///
/// Thread-safety: all members may be called concurrently. An update is copied: other threads may
/// run the copy, several at a time, also when its caller has returned; its captures are copyable,
/// and are destroyed when nobody runs it and 1024 later updates have taken its place. A read runs
/// once, on its caller's thread.
/// Progress: with options.replicas >= 2 N for N threads all is wait-free, apart from the operations
/// themselves and the growth of the file. With fewer an update blocks: it waits until a replica is
/// free. Durable at return: what update() and read() answered, and what that depends on.
/// Rule R2 of manager.hpp is meant: replicas in which an operation does not do the same differ from
/// then on. Whether it throws is decided once, by its first run.
/// Space: the data, times the replicas that were ever needed at a time. Memory: the last 1024
/// operations with their captures, and of each replica the lines that it has not flushed.
template <domain::persistence_domain D = domain::native>
class cx_ptm : public detail::manager_calls<cx_ptm<D>> {
 public:
  using pool_type = basic_pool<D>;
  using domain_type = D;

  /// The name of the engine, for reports.
  [[nodiscard]] static constexpr std::string_view engine_name() noexcept { return "cx_ptm"; }

  static constexpr bool runs_after_return = true;

  /// Attaches the manager `name` of `pool`; creates it, empty, if there is none. `name`: at most 44
  /// bytes. After a reopening an update that first takes a replica writes what differs. Throws
  /// error{root_type_mismatch} if another engine owns it, error{header_damaged, newer_version,
  /// already_open, already_exists, bad_argument, refused, too_small}, corruption, out_of_space.
  cx_ptm(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : session_(pool, name, wanted, true, detail::engine_kind::cx_ptm) {}

 private:
  friend class detail::manager_calls<cx_ptm<D>>;

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
