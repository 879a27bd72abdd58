// The wait-free engine: several replicas, and one durable word that names the current one. [Cor20]
//
// When to use: no thread may wait for a thread that has stopped, in an update or a read. When not
// to: if threads may wait, left_right takes half of the space and fewer instructions.
//
// The protocol, a universal construction with helping and physical redo logs:
// docs/papers/universal-constructions.md. A thread announces its update. It takes a replica that no
// thread uses, replays the redo logs of the last commits there, runs all announced updates as one
// batch, and flushes the lines that the batch wrote. It then tries to move the durable word to its
// replica, by a compare-and-swap. If another thread was faster, it undoes its batch. After two such
// failures another thread has run its update.
//
// Three engines, each with one step more than the one before, to measure each step:
//
//   engine      replicas                       replayed and undone lines are flushed
//   redo        the freshest one               immediately, each time that they are written
//   redo_timed  one of two for 64 rounds of    the same
//               backoff, then as redo
//   redo_opt    as redo_timed                  with the next batch, once together with its lines
//                                              (lines of long logs immediately: few coincide)
//
// Redo, RedoTimed and RedoOpt of [Cor20] take the same steps. Differences: All three engines log
// lines, so that stores to one line are logged, replayed and flushed together; in the paper, only
// RedoOpt does so. A replica that has missed too many commits gets the pages that changed, instead
// of a complete copy. RedoTimed waits for a measured time, and redo_timed for a number of rounds,
// because algorithms here use no clock. redo_opt does not copy by non-temporal stores, as RedoOpt
// does: the bytes are few, or in the caches because they were just compared.
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/redo_manager.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <string_view>

namespace outlast::tx {

/// Wait-free transactions. [Cor20]
///
/// Thread-safety: all members may be called concurrently. An update is copied. Several threads may
/// run the copy concurrently, also after the caller has returned. Its captures must be copyable;
/// they are destroyed once no thread runs the copy. Each thread runs a copy of its own, unless the
/// call operator is const. A read runs once, on the caller's thread.
/// Progress: with options.replicas >= 2 N for N threads all members are wait-free, apart from the
/// operations themselves and the growth of the file. With N + 1 replicas they are too, with two
/// exceptions: a thread that stops while it copies a stale replica, and one that stops in a read
/// that updates have overtaken four times, keep two replicas. With fewer replicas an update waits
/// until one is free. Growth of the file: while the file system provides space, updates wait on a
/// mutex if they need that space, or one more replica. Readers in other processes keep replicas,
/// too (tx/reader.hpp): at most two fewer than there are.
/// Durability: when update() or read() returns, its result and all updates on which it depends are
/// durable. options.hpp has an option that relaxes this.
/// Space: the data, times the maximum number of replicas in use at one time. Memory: three times
/// the lines of the last 128 commits. Except for the newest commit, at most about 16 MiB are kept.
template <domain::persistence_domain D = domain::native>
class redo_opt : public detail::redo_manager<redo_opt<D>, D, detail::engine_kind::redo_opt> {
  using base_type = detail::redo_manager<redo_opt<D>, D, detail::engine_kind::redo_opt>;

 public:
  /// Attaches the manager `name` of `pool`, and creates an empty one if there is none. `name`: at
  /// most 44 bytes. After a reopening, the first update in each replica writes the lines that
  /// differ. Throws error{root_type_mismatch} if another engine owns the manager,
  /// error{header_damaged, newer_version, already_open, already_exists, bad_argument, refused,
  /// too_small}, corruption, out_of_space.
  redo_opt(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : base_type(pool, name, wanted) {}
};

static_assert(transaction_manager<redo_opt<>>);

}  // namespace outlast::tx
