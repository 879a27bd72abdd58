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

#include <outlast/domain/native.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/redo_manager.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <string_view>

namespace outlast::tx {

/// Wait-free transactions by a replica for each thread. [Cor20]
///
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
class redo_opt : public detail::redo_manager<redo_opt<D>, D, detail::engine_kind::redo_opt> {
  using base_type = detail::redo_manager<redo_opt<D>, D, detail::engine_kind::redo_opt>;

 public:
  /// Attaches the manager `name` of `pool`; creates it, empty, if there is none. `name`: at most 44
  /// bytes. After a reopening an update that first takes a replica writes what differs. Throws
  /// error{root_type_mismatch} if another engine owns it, error{header_damaged, newer_version,
  /// already_open, already_exists, bad_argument, refused, too_small}, corruption, out_of_space.
  redo_opt(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : base_type(pool, name, wanted) {}
};

static_assert(transaction_manager<redo_opt<>>);

}  // namespace outlast::tx
