#include <apps/db/session.hpp>

#include <outlast/db/iterator.hpp>
#include <outlast/db/options.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

namespace outlast::apps::db {

using namespace outlast::db;
namespace fs = std::filesystem;

namespace {

/// The first key behind all that begin with `prefix`; none: there is none.
std::optional<std::string> behind(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

bool is_before(const Slice& key, const std::optional<std::string>& limit) {
  return !limit || key.compare(*limit) < 0;
}

/// To the last key before `to`.
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

std::unique_ptr<DB> open_store(const std::string& directory, opening how, capacity room) {
  if (std::error_code unknown; how == opening::existing && !fs::is_directory(directory, unknown)) {
    throw failure(directory + ": no such directory");  // to open a store would make it
  }
  Options options;
  options.create_if_missing = how != opening::existing;
  options.error_if_exists = how == opening::made_or_none;
  StoreOptions more;
  more.capacity_bytes = room;
  DB* opened = nullptr;
  require(DB::Open(options, more, directory, &opened));
  return std::unique_ptr<DB>(opened);
}

std::uint64_t number_of(DB& store, const std::string& property) {
  return std::stoull(text_of(store, property));
}

std::string text_of(DB& store, const std::string& property) {
  std::string text;
  if (!store.GetProperty(property, &text)) throw failure("the store does not tell " + property);
  return text;
}

void key_range::narrow(const std::string& prefix) {
  from = std::max(from, prefix);
  const std::optional<std::string> end = behind(prefix);
  if (end && (!to || *end < *to)) to = end;
}

std::uint64_t visit(DB& store, const key_range& range, bool backwards, std::uint64_t limit,
                    const std::function<void(const Slice&, const Slice&)>& visit) {
  ReadOptions checked;
  checked.verify_checksums = true;
  const std::unique_ptr<Iterator> at(store.NewIterator(checked));
  if (backwards) {
    seek_last(*at, range.to);
  } else {
    at->Seek(range.from);
  }
  std::uint64_t visited = 0;
  while (visited < limit && at->Valid()) {
    const bool is_inside =
        backwards ? at->key().compare(range.from) >= 0 : is_before(at->key(), range.to);
    if (!is_inside) break;
    visit(at->key(), at->value());
    ++visited;
    backwards ? at->Prev() : at->Next();
  }
  require(at->status());
  return visited;
}

}  // namespace outlast::apps::db
