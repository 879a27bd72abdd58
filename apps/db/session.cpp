// Opens stores for the commands of outlast db, with the comparator of their keys.
#include <apps/db/session.hpp>

#include <apps/db/order.hpp>
#include <apps/db/text.hpp>
#include <outlast/db/comparator.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/options.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace outlast::apps::db {

using namespace outlast::db;
namespace fs = std::filesystem;

namespace {

/// Returns the first key after all keys with `prefix`, or nothing if there is no such key.
std::optional<std::string> behind(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

/// Returns true if `a` is before `b` in the order of the store.
bool is_before(const store_handle& in, const Slice& a, const Slice& b) {
  return in.order->Compare(a, b) < 0;
}

/// Moves to the last key before `to`.
void seek_last(Iterator& at, const std::optional<std::string>& to) {
  if (!to) {
    at.SeekToLast();
    return;
  }
  at.Seek(*to);
  if (at.Valid()) {
    at.Prev();
  } else {
    at.SeekToLast();
  }
}

}  // namespace

void require(const Status& status) {
  if (!status.ok()) throw failure(status.ToString());
}

bool holds_store(const std::string& directory) {
  std::error_code unknown;
  return fs::exists(directory + "/store.pool", unknown) ||
         fs::exists(directory + "/store.repaired", unknown);
}

void require_written(const Status& status) {
  const std::string message = status.ToString();
  if (!status.IsIOError() || message.find("no space") == std::string::npos) return require(status);
  // A store of records names its remedy.
  if (message.find("capacity_bytes of") != std::string::npos) {
    throw failure(message + "; --capacity sets it");
  }
  throw failure(message +
                "; the capacity of a store is fixed when it is created: create a larger one with "
                "--capacity, in which the same keys may need more space");
}

namespace {

std::unique_ptr<DB> open_for_reading(const std::string& directory, const Comparator* order) {
  if (std::error_code unknown; !fs::is_directory(directory, unknown)) {
    throw failure(directory + ": no such directory");
  }
  Options options;
  options.comparator = order;
  DB* opened = nullptr;
  require(DB::OpenForReading(options, directory, &opened));
  return std::unique_ptr<DB>(opened);
}

/// Returns false for a store of records: they are sorted when the store is opened, by an order that
/// the caller has not given.
bool has_stored_order(DB& store) {
  const std::unique_ptr<Iterator> at(store.NewIterator(ReadOptions()));
  at->SeekToFirst();
  return !at->status().IsInvalidArgument();
}

/// Throws failure if the keys of the store are not in this order.
void require_order(const std::string& directory, DB& store, const Comparator& order) {
  if (!has_stored_order(store)) return;
  const std::unique_ptr<Iterator> at(store.NewIterator(ReadOptions()));
  std::string last;
  bool is_first = true;
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    if (!is_first && order.Compare(last, at->key()) >= 0) {
      throw failure(directory + ": the keys are not in the order of --comparator: '" +
                    escaped(last) + "' comes before '" + escaped(at->key().view()) + "'");
    }
    is_first = false;
    last = at->key().ToString();
  }
  require(at->status());
}

[[noreturn]] void refuse_order(const std::string& directory, const std::string& name) {
  throw failure(directory + ": its keys are in the order of the comparator '" + name +
                "', which this program does not have; if that is the order of the bytes, or the "
                "reverse, pass --comparator; otherwise read and write the store with the program "
                "that created it");
}

/// Returns the comparator of a store, or nullptr if the tool does not have it.
const Comparator* order_of(const std::string& directory, DB& in_stored_order,
                           const std::string& given) {
  const std::string name = text_of(in_stored_order, "outlast.comparator");
  if (name.empty()) return &usual_comparator(given);  // no key was ever written to it
  if (contradicts(name, given)) {
    throw failure(directory + ": its keys are in the order of the comparator '" + name +
                  "', not in that of --comparator");
  }
  const Comparator* const order = comparator_of(name, given);
  if (order != nullptr && !given.empty()) require_order(directory, in_stored_order, *order);
  return order;
}

}  // namespace

store_handle open_to_read(const std::string& directory, reading how, const std::string& order) {
  std::unique_ptr<DB> in_stored_order = open_for_reading(directory, nullptr);
  const Comparator* const found = order_of(directory, *in_stored_order, order);
  const bool is_enough =
      how == reading::asks || (how == reading::walks && has_stored_order(*in_stored_order));
  if (found == nullptr && is_enough) return {std::move(in_stored_order), nullptr};
  if (found == nullptr) refuse_order(directory, text_of(*in_stored_order, "outlast.comparator"));
  in_stored_order.reset();
  return {open_for_reading(directory, found), found};
}

const Comparator& comparator_in(const std::string& directory, const std::string& order) {
  Options any;
  any.comparator = nullptr;
  DB* opened = nullptr;
  if (!DB::OpenForReading(any, directory, &opened).ok()) return usual_comparator(order);
  const std::unique_ptr<DB> in_stored_order(opened);
  const std::string name = text_of(*in_stored_order, "outlast.comparator");
  if (name.empty()) return usual_comparator(order);
  const Comparator* const found = contradicts(name, order) ? nullptr : comparator_of(name, order);
  if (found == nullptr) refuse_order(directory, name);
  return *found;
}

StoreOptions options_of(const new_store& wanted) {
  StoreOptions made;
  made.capacity_bytes = wanted.capacity_bytes;
  if (wanted.engine == "records") made.engine = StoreEngine::kRecords;
  if (wanted.engine == "replicas") made.engine = StoreEngine::kReplicas;
  return made;
}

store_handle open_to_write(const std::string& directory, opening how, const new_store& wanted,
                           const std::string& order, const std::string& order_name) {
  std::error_code unknown;
  if (how == opening::existing && !fs::is_directory(directory, unknown)) {
    throw failure(directory + ": no such directory");  // DB::Open() would create it
  }
  Options options;
  options.create_if_missing = how != opening::existing;
  options.error_if_exists = how == opening::made_or_none;
  if (how != opening::made_or_none && holds_store(directory)) {
    const std::unique_ptr<DB> in_stored_order = open_for_reading(directory, nullptr);
    options.comparator = order_of(directory, *in_stored_order, order);
    if (options.comparator == nullptr) {
      refuse_order(directory, text_of(*in_stored_order, "outlast.comparator"));
    }
  } else {
    options.comparator =
        order_name.empty() ? &usual_comparator(order) : comparator_of(order_name, order);
    if (options.comparator == nullptr) refuse_order(directory, order_name);
  }
  DB* opened = nullptr;
  require(DB::Open(options, options_of(wanted), directory, &opened));
  return {std::unique_ptr<DB>(opened), options.comparator};
}

std::uint64_t number_of(DB& store, const std::string& property) {
  return std::stoull(text_of(store, property));
}

std::string text_of(DB& store, const std::string& property) {
  std::string text;
  if (!store.GetProperty(property, &text)) throw failure("the store has no property " + property);
  return text;
}

void key_range::narrow(const std::string& with, const Comparator& order) {
  prefix = with;
  const bool is_by_bytes = &order == BytewiseComparator();
  if (with.empty() || !is_by_bytes) return;  // in another order the keys may be anywhere
  from = std::max(from.value_or(""), with);
  const std::optional<std::string> end = behind(with);
  if (end && (!to || *end < *to)) to = end;
}

std::uint64_t visit(const store_handle& store, const key_range& range, bool backwards,
                    std::uint64_t limit,
                    const std::function<void(const Slice&, const Slice&)>& visit) {
  ReadOptions checked;
  checked.verify_checksums = true;
  const std::unique_ptr<Iterator> at(store->NewIterator(checked));
  if (backwards) {
    seek_last(*at, range.to);
  } else if (range.from) {
    at->Seek(*range.from);
  } else {
    at->SeekToFirst();
  }
  std::uint64_t visited = 0;
  while (visited < limit && at->Valid()) {
    const bool is_outside = backwards ? range.from && is_before(store, at->key(), *range.from)
                                      : range.to && !is_before(store, at->key(), *range.to);
    if (is_outside) break;
    if (at->key().starts_with(range.prefix)) {
      visit(at->key(), at->value());
      ++visited;
    }
    backwards ? at->Prev() : at->Next();
  }
  require(at->status());
  return visited;
}

}  // namespace outlast::apps::db
