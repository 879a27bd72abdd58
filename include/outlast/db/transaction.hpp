// Transactions: several reads and writes of a store as one atomic step.
//
//   const auto pay = [&](Transaction& t) {  // may run several times
//     std::string balance;
//     Status found = t.Get(account, &balance);
//     if (found.ok()) t.Put(account, less(balance, amount));
//     return found;
//   };
//   Status status = RunTransaction(db, WriteOptions(), pay);
//
// LevelDB has batches of writes, but no writes that depend on reads.
//
// When to use: the written values depend on the values read. When not to: for writes that do not
// depend on reads, use a WriteBatch; for reads alone, use a snapshot. If many transactions write
// the same few keys, most of them are repeated.
//
// How: transactions are optimistic. A transaction records the results of its reads, and buffers its
// writes until Commit(). Commit() is one update of the store. It compares the recorded results with
// the current contents, and applies all changes or none. Transactions are therefore serializable,
// together with all other writes of the store: each has the effect of running alone at the time of
// its Commit(). A key that was changed and changed back is no conflict. A key that was written but
// not read is no conflict either.
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

/// Reads and writes that take effect atomically, or not at all.
///
/// Thread-safety: one thread at a time may use a transaction. Any number of transactions may run
/// concurrently.
/// Progress: reads are as for DB. If a Commit() does not commit, another write has changed the data
/// that the transaction has read. A transaction holds no lock; its destruction costs nothing and
/// does not affect other transactions.
/// Memory: the transaction keeps everything that it has read and written until it ends.
class Transaction {
 public:
  /// Begins a transaction on `db`. If `options.snapshot` is set, reads return the contents of the
  /// snapshot; otherwise each read returns the current contents.
  /// Requires: `db` and the snapshot outlive the transaction. `db` was opened by DB::Open();
  /// otherwise each function that returns a status returns InvalidArgument.
  explicit Transaction(DB* db, const ReadOptions& options = ReadOptions());
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  /// Reads as DB::Get() does, and includes the transaction's own writes. Repeated reads of a key
  /// return the same value. Without a snapshot, the values of several keys may be from different
  /// points in time; the transaction then does not commit.
  Status Get(const Slice& key, std::string* value);
  /// Calls visit(key, value) in ascending order for the keys from `from` (inclusive) to `*to`
  /// (exclusive), until it returns false. If `to` is nullptr, the range has no end. The entries are
  /// from one point in time and include the transaction's own writes. The visited range, including
  /// the absence of other keys in it, belongs to the read set. A key that another write adds to the
  /// range is therefore a conflict. Requires: `visit` does not throw. It may read and write in the
  /// transaction.
  Status Scan(const Slice& from, const Slice* to,
              const std::function<bool(const Slice& key, const Slice& value)>& visit);
  // Set or remove a key. The transaction's own reads see the change immediately, other threads
  // after Commit().
  void Put(const Slice& key, const Slice& value);
  void Delete(const Slice& key);

  /// Sets *holds to true if the store still contains everything that was read. If it does, a
  /// transaction without writes is serializable. A transaction that has read from a snapshot,
  /// without writes, always is.
  Status Holds(bool* holds);
  /// Applies all changes atomically if the store still contains everything that was read. Sets
  /// *committed to true if the changes were applied. Durability is as for a write of the store with
  /// `options`. Afterwards the transaction is empty, as a new one.
  /// Errors: InvalidArgument if a key or value is longer than 1 GiB, and IOError if there is no
  /// space, both without effect. After a failure of the device the state is as after a failed write
  /// of the store.
  Status Commit(const WriteOptions& options, bool* committed);
  /// Discards the recorded reads and the buffered writes.
  void Clear();

 private:
  class state;

  DB* db_;
  ReadOptions options_;
  std::unique_ptr<state> state_;
};

/// Calls f(transaction) and commits, with a new transaction each time, until a commit succeeds. If
/// `f` returns an error and the store still contains everything that `f` has read, returns that
/// error and writes nothing.
/// Requires: `f` has no side effects except on the transaction, because it may run several times.
/// Its reads may return values from different points in time.
Status RunTransaction(DB* db, const WriteOptions& options,
                      const std::function<Status(Transaction&)>& f);

}  // namespace OUTLAST_DB_NAMESPACE
