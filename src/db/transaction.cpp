// Transaction: an optimistic transaction on a store, and RunTransaction(), which retries conflicts.
#include <outlast/db/db.hpp>
#include <outlast/db/detail/changes.hpp>
#include <outlast/db/detail/read_set.hpp>
#include <outlast/db/transaction.hpp>
#include <src/db/db_impl.hpp>
#include <src/db/exception_status.hpp>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace OUTLAST_DB_NAMESPACE {

namespace core = ::outlast::store_detail;

// Members of a class with linkage have types with linkage: sources may be compiled as one.
namespace transaction_detail {

/// Compares keys in the order of a store.
struct in_order {
  using is_transparent = void;
  core::key_order order;
  bool operator()(std::string_view a, std::string_view b) const { return order(a, b); }
};

/// The values that keys will have; no value: the key will be deleted.
using writes = std::map<std::string, std::optional<std::string>, in_order>;

}  // namespace transaction_detail

namespace {

using transaction_detail::in_order;
using transaction_detail::writes;

using visitor = std::function<bool(const Slice& key, const Slice& value)>;

core::changes changes_of(const writes& all) {
  core::changes made;
  for (const auto& [key, value] : all) {
    if (value) {
      made.put(key, *value);
    } else {
      made.erase(key);
    }
  }
  return made;
}

/// Merges the keys of a store and the writes of a transaction into one sequence.
class merged {
 public:
  /// `written`: the writes in the range.
  merged(Iterator& there, const writes& written, const core::key_order& order,
         core::read_set::range& seen)
      : there_(there), written_(written), order_(order), seen_(seen) {}

  /// Calls `visit` for each key of the range. If `visit` returns false, ends the range there.
  void walk(const visitor& visit) {
    there_.Seek(seen_.from);
    auto own = written_.begin();
    for (;;) {
      const bool has_there = there_.Valid() && is_before_end(there_.key().view());
      const bool has_own = own != written_.end() && is_before_end(own->first);
      if (!has_there && !has_own) return;
      const bool is_own = has_own && (!has_there || !order_(there_.key().view(), own->first));
      const bool is_there = has_there && (!is_own || !order_(own->first, there_.key().view()));
      // Both have the key: the write of the transaction hides the value of the store.
      if (is_there) note();
      const std::string key = is_own ? own->first : there_.key().ToString();
      const bool goes_on =
          is_own ? !own->second || visit(key, *own->second) : visit(key, there_.value());
      if (!goes_on) return end_at(key);
      if (is_there) there_.Next();
      if (is_own) ++own;
    }
  }

 private:
  [[nodiscard]] bool is_before_end(std::string_view key) const {
    return !seen_.to || order_(key, *seen_.to);
  }
  void note() { seen_.held.emplace_back(there_.key().view(), there_.value().view()); }
  void end_at(const std::string& key) {
    seen_.to = key;
    seen_.with_to = true;
  }

  Iterator& there_;
  const writes& written_;
  const core::key_order& order_;
  core::read_set::range& seen_;
};

}  // namespace

class Transaction::state {
 public:
  state(DB* db, const ReadOptions& options)
      : in_(opened_of(db)),
        options_(options),
        written_(in_order{in_ == nullptr ? core::key_order() : in_->in().order()}),
        status_(in_ == nullptr ? not_opened("a Transaction") : Status()) {}

  Status get(std::string_view key, std::string* value) {
    if (in_ == nullptr) return status_;
    if (const auto own = written_.find(key); own != written_.end()) {
      return answer(own->second, value);
    }
    auto seen = seen_.find(key);
    if (seen == seen_.end()) {
      std::string found;
      Status status = in_->Get(options_, key, &found);
      if (!status.ok() && !status.IsNotFound()) return status;
      seen = seen_.emplace(key, std::nullopt).first;
      if (status.ok()) seen->second = std::move(found);
    }
    return answer(seen->second, value);
  }

  Status scan(const Slice& from, const Slice* to, const visitor& visit) {
    if (in_ == nullptr) return status_;
    const std::unique_ptr<Iterator> there(in_->NewIterator(options_));
    std::list<core::read_set::range> its(1);
    core::read_set::range& seen = its.front();
    seen.from = from.ToString();
    if (to != nullptr) seen.to = to->ToString();
    const core::key_order order = in_->in().order();
    const auto first = written_.lower_bound(seen.from);
    const bool is_empty = seen.to && !order(seen.from, *seen.to);
    const auto last = is_empty ? first : seen.to ? written_.lower_bound(*seen.to) : written_.end();
    const writes as_written(first, last, in_order{order});  // `visit` may write
    try {
      merged(*there, as_written, order, seen).walk(visit);
    } catch (...) {
      // Only a part of the range was read. The transaction must not commit, unless nothing follows.
      ranges_.splice(ranges_.end(), its);
      throw;
    }
    Status status = there->status();
    if (status.ok()) ranges_.splice(ranges_.end(), its);
    return status;
  }

  void write(std::string_view key, std::optional<std::string> value) {
    if (status_.ok()) status_ = validate_length(key, value ? std::string_view(*value) : "");
    if (!status_.ok()) return;
    // Created before the old one is destroyed: without memory the old one remains.
    writes made(written_.key_comp());
    made.emplace(key, std::move(value));
    if (const auto same = written_.find(key); same != written_.end()) written_.erase(same);
    written_.merge(made);
  }

  Status holds(bool* holds) {
    *holds = false;
    if (in_ == nullptr) return status_;
    *holds = written_.empty() && options_.snapshot != nullptr;
    if (*holds) return {};
    return guarded([&] { *holds = in_->in().holds(read()); });
  }

  Status commit(const WriteOptions& options, bool* committed) {
    *committed = false;
    if (!status_.ok()) return status_;
    if (written_.empty()) {
      Status status = holds(committed);
      return status.ok() && *committed && options.sync ? in_->Write(options, nullptr) : status;
    }
    return guarded(
        [&] { *committed = in_->in().apply_if(take(), changes_of(written_), options.sync); });
  }

 private:
  static Status answer(const std::optional<std::string>& found, std::string* value) {
    if (!found) return Status::NotFound("no such key");
    *value = *found;
    return {};
  }
  [[nodiscard]] core::read_set read() const {
    core::read_set all;
    for (const auto& [key, value] : seen_) all.expect(key, value);
    for (const core::read_set::range& each : ranges_) all.expect(each);
    return all;
  }
  /// Returns the read set and moves the values out of it. Requires: it is called once.
  [[nodiscard]] core::read_set take() {
    core::read_set all;
    for (auto& [key, value] : seen_) all.expect(key, std::move(value));
    for (core::read_set::range& each : ranges_) all.expect(std::move(each));
    return all;
  }

  db_impl* in_;  // null: `status_` has the cause
  ReadOptions options_;
  writes written_;
  std::map<std::string, std::optional<std::string>, std::less<>> seen_;
  std::list<core::read_set::range> ranges_;
  Status status_;
};

Transaction::Transaction(DB* db, const ReadOptions& options)
    : db_(db), options_(options), state_(std::make_unique<state>(db, options)) {}

Transaction::~Transaction() = default;

Status Transaction::Get(const Slice& key, std::string* value) {
  return state_->get(key.view(), value);
}
Status Transaction::Scan(const Slice& from, const Slice* to, const visitor& visit) {
  return state_->scan(from, to, visit);
}
void Transaction::Put(const Slice& key, const Slice& value) {
  state_->write(key.view(), value.ToString());
}
void Transaction::Delete(const Slice& key) { state_->write(key.view(), std::nullopt); }
Status Transaction::Holds(bool* holds) { return state_->holds(holds); }

Status Transaction::Commit(const WriteOptions& options, bool* committed) {
  // The next state is created first, because no step may fail after the commit.
  auto fresh = std::make_unique<state>(db_, options_);
  const std::unique_ptr<state> committing = std::exchange(state_, std::move(fresh));
  return committing->commit(options, committed);
}
void Transaction::Clear() { state_ = std::make_unique<state>(db_, options_); }

Status RunTransaction(DB* db, const WriteOptions& options,
                      const std::function<Status(Transaction&)>& f) {
  for (;;) {
    Transaction attempt(db);
    Status status = f(attempt);
    bool is_over = false;
    if (status.ok()) {
      status = attempt.Commit(options, &is_over);
      if (!status.ok()) return status;
    } else {
      Status judged = attempt.Holds(&is_over);
      if (!judged.ok()) return judged;
    }
    if (is_over) return status;
  }
}

}  // namespace OUTLAST_DB_NAMESPACE
