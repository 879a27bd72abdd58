// Several reads and writes of a store as one step.
//
//   const auto pay = [&](Transaction& t) {  // may run several times
//     std::string balance;
//     Status found = t.Get(account, &balance);
//     if (found.ok()) t.Put(account, less(balance, amount));
//     return found;
//   };
//   Status status = RunTransaction(db, WriteOptions(), pay);
//
// LevelDB has none: a batch of its writes at once, but not upon what was read.
//
// When to use: what is written follows from what was read. When not to: writes that follow from
// nothing are a WriteBatch; reads alone are a snapshot. Where many transactions write the same few
// keys most of them are repeated.
//
// How: optimistic. Reads note what they found, writes are kept until Commit(). That is one update
// of the store, which compares what was noted with what is there, and makes all changes or none.
// So transactions are serializable, together with all other writes of the store: each is as if it
// had run alone at the moment of its Commit(). A key that was changed and changed back is no
// conflict, and neither is a key that was written and not read.
#pragma once

#include "namespace.hpp"
#include "options.hpp"
#include "slice.hpp"
#include "status.hpp"

#include <functional>
#include <memory>
#include <string>

namespace OUTLAST_DB_NAMESPACE {

class DB;

/// Reads and writes that happen together, or not at all.
///
/// Thread-safety: a transaction is used by one thread at a time, any number of them at once.
/// Progress: reads as DB's; a Commit() that does not commit has met a change that somebody made.
/// It holds no lock: to drop it costs nothing and takes nothing back from others.
/// Memory: all that it has read and written, until it ends.
class Transaction {
 public:
  /// `db`: of DB::Open(), outlives it; with another one all that has a status answers
  /// InvalidArgument. `options.snapshot`: reads see that, instead of what is there at each of them;
  /// it outlives the transaction too.
  explicit Transaction(DB* db, const ReadOptions& options = ReadOptions());
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  /// As DB::Get(), with its own writes. The same key has the same value each time. Without a
  /// snapshot what several keys had may be of several moments; then it does not commit.
  Status Get(const Slice& key, std::string* value);
  /// Calls visit(key, value) in ascending order for the keys from `from` on and before `*to` (null:
  /// to the end), of one moment, with its own writes, until it answers false. What was visited, and
  /// that there is nothing between, is a part of what has been read: so a key that somebody else
  /// adds there is a conflict. `visit` throws nothing; it may read and write.
  Status Scan(const Slice& from, const Slice* to,
              const std::function<bool(const Slice& key, const Slice& value)>& visit);
  // Seen by its own reads at once, and by others after Commit().
  void Put(const Slice& key, const Slice& value);
  void Delete(const Slice& key);

  /// Is what was read still there? A transaction that has written nothing is serializable if so,
  /// and always if it has read from a snapshot.
  Status Holds(bool* holds);
  /// Makes all changes, if what was read is still there: *committed tells. Durable at return as
  /// `options` says, as a write of the store. The transaction is as new afterwards.
  /// Errors, without effect: InvalidArgument, a key or value has more than 1 GiB; IOError, there is
  /// no space. Where the device fails it is as after a write of the store.
  Status Commit(const WriteOptions& options, bool* committed);
  /// Forgets what was read and written.
  void Clear();

 private:
  class state;

  DB* db_;
  ReadOptions options_;
  std::unique_ptr<state> state_;
};

/// Calls f(transaction) and commits, with a new one each time until it has committed. f may run
/// several times, and on values that do not belong together: it computes and does nothing else.
/// If f answers with a failure, and what it has read is there, that is the answer, and nothing is
/// written.
Status RunTransaction(DB* db, const WriteOptions& options,
                      const std::function<Status(Transaction&)>& f);

}  // namespace OUTLAST_DB_NAMESPACE
