// The parts of an item in a store, with the changes that one call makes.
#include <outlast/base/error.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/options.hpp>
#include <outlast/db/status.hpp>
#include <src/server/stored/format.hpp>
#include <src/server/stored/part_changes.hpp>
#include <src/server/stored/status_errors.hpp>

#include <memory>
#include <utility>

namespace outlast::server::stored {

namespace {

std::int64_t entry_bytes(std::string_view key, std::string_view value) noexcept {
  return static_cast<std::int64_t>(key.size() + value.size());
}

}  // namespace

void part_changes::require_writable() const {
  if (of_.numbers != nullptr) return;
  throw error(errc::bad_argument, of_.path,
              "a call of read_parts() changes parts; use modify_parts()");
}

std::uint64_t part_changes::set() {
  if (set_ == 0) set_ = of_.numbers->next_number();
  return set_;
}

bool part_changes::read(std::string_view name, reader look) {
  if (set_ == 0) return false;
  const std::string key = part_key(set_, name);
  if (const auto at = changes_.find(key); at != changes_.end()) {
    if (at->second) look(*at->second);
    return at->second.has_value();
  }
  return read_stored(key, look);
}

bool part_changes::read_stored(const std::string& key, reader look) {
  if (!has_stored_parts()) return false;
  std::string bytes;
  const std::string* found = nullptr;
  bool is_known = false;
  if (of_.pending != nullptr) {
    const auto at = of_.pending->find(key);
    is_known = at != of_.pending->end();
    if (is_known && at->second) found = &*at->second;
  }
  if (!is_known) {
    const db::Status status = of_.store.Get({}, key, &bytes);
    if (!status.IsNotFound()) {
      require(status, of_.path);
      found = &bytes;
    }
  }
  // A command often replaces the part that it has read.
  if (of_.numbers != nullptr) {
    last_read_ = {key, found == nullptr ? 0 : entry_bytes(key, *found)};
  }
  if (found != nullptr) look(*found);
  return found != nullptr;
}

std::int64_t part_changes::size_of(const std::string& key) {
  if (const auto at = changes_.find(key); at != changes_.end()) {
    return at->second ? entry_bytes(key, *at->second) : 0;
  }
  if (!has_stored_parts()) return 0;
  if (last_read_.key != key) read_stored(key, [](std::string_view) {});
  return last_read_.bytes;
}

void part_changes::put(std::string_view name, std::string_view value) {
  require_writable();
  std::string key = part_key(set(), name);
  const std::int64_t added = entry_bytes(key, value) - size_of(key);
  changes_.insert_or_assign(std::move(key), std::string(value));
  added_bytes_ += added;
}

void part_changes::erase(std::string_view name) {
  require_writable();
  if (set_ == 0) return;
  std::string key = part_key(set_, name);
  const std::int64_t bytes = size_of(key);
  if (bytes == 0) return;
  changes_.insert_or_assign(std::move(key), std::nullopt);
  added_bytes_ -= bytes;
}

void part_changes::clear() {
  require_writable();
  changes_.clear();
  added_bytes_ = 0;
  is_cleared_ = is_cleared_ || of_.set != 0;
  set_ = 0;
}

void part_changes::add_directory_entry(std::string_view item_name) {
  std::string key = set_key(set());
  const std::int64_t bytes = entry_bytes(key, item_name);
  changes_.insert_or_assign(std::move(key), std::string(item_name));
  added_bytes_ += bytes;
}

void part_changes::walk(std::string_view from, visitor visit) {
  visit_all(from, merged_cursor::order::ascending, visit);
}

void part_changes::walk_back(std::string_view before, visitor visit) {
  visit_all(before, merged_cursor::order::descending, visit);
}

void part_changes::visit_all(std::string_view from, merged_cursor::order by, visitor visit) {
  if (set_ == 0) return;
  const std::string head = part_key(set_, {});
  // Parts that have begun in this call are not in the store.
  merged_cursor at(std::unique_ptr<db::Iterator>(has_stored_parts() ? of_.store.NewIterator({})
                                                                    : db::NewEmptyIterator()),
                   {of_.pending, &changes_}, part_key(set_, from), by);
  for (; at.is_valid() && at.key().starts_with(head); at.next()) {
    if (!visit(at.key().substr(head.size()), at.value())) return;
  }
  require(at.status(), of_.path);
}

}  // namespace outlast::server::stored
