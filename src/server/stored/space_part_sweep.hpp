// A store as the key space of a server: removal of the parts that no item names.
//
// A number of parts is drawn once, and only the item of the directory's entry can name it. If that
// item does not name it under the lock of the key, no item ever names it again. The rest of the
// removal thus needs no lock, and a process that ends in the middle leaves parts that the next
// sweep removes. An item that names the number and is absent, because it has expired or was erased,
// is removed first: it would be present without parts if the clock moved back.
#pragma once

#include <outlast/db/iterator.hpp>
#include <outlast/db/options.hpp>
#include <outlast/db/status.hpp>
#include <outlast/db/write_batch.hpp>
#include <src/server/stored/status_errors.hpp>
#include <src/server/stored/stored_space.hpp>

#include <algorithm>
#include <utility>

namespace outlast::server {

/// Removes parts of the next `count` entries of the directory. Returns true at its end.
template <domain::persistence_domain D>
bool stored_space<D>::sweep_directory(std::int64_t now_ms, std::size_t count,
                                      std::size_t& parts_left, sweep_result& result) {
  std::uint64_t next = 0;
  for (const directory_entry& each : next_sets(count, next)) {
    if (remove_if_unnamed(each, now_ms, parts_left, result)) continue;
    directory_cursor_ = each.set;
    return false;
  }
  directory_cursor_ = next;
  return next == 0;
}

/// Removes parts that have lost their item since the last sweep.
template <domain::persistence_domain D>
void stored_space<D>::sweep_hints(std::int64_t now_ms, std::size_t& parts_left,
                                  sweep_result& result) {
  while (parts_left != 0) {
    directory_entry of;
    of.set = unnamed_sets_.pop();
    if (of.set == 0) return;
    const std::string key = stored::set_key(of.set);
    const db::Status status = store_.Get({}, key, &of.item_name);
    if (status.IsNotFound()) continue;
    stored::require(status, options_.path);
    if (!stored::is_sound_set(key, of.item_name)) continue;
    if (!remove_if_unnamed(of, now_ms, parts_left, result)) unnamed_sets_.push(of.set);
  }
}

/// Returns entries of the directory from the cursor on. `next`: the number from which the next call
/// continues, or 0 at the end.
template <domain::persistence_domain D>
std::vector<typename stored_space<D>::directory_entry> stored_space<D>::next_sets(
    std::size_t limit, std::uint64_t& next) {
  const passage mine(gate_);
  std::vector<directory_entry> found;
  stored::merged_cursor at(std::unique_ptr<db::Iterator>(store_.NewIterator({})), {},
                           stored::set_key(directory_cursor_));
  for (; at.is_valid() && at.key().front() == stored::set_prefix; at.next()) {
    // As in the walk over items, the sweep passes damage.
    if (!stored::is_sound_set(at.key(), at.value())) continue;
    const std::uint64_t set = stored::number_in(at.key());
    if (found.size() == limit) {
      next = set;
      return found;
    }
    found.push_back({set, std::string(at.value())});
  }
  stored::require(at.status(), options_.path);
  next = 0;
  return found;
}

/// Returns true if an item names the parts, or none of them is left. Returns false if the bound of
/// this sweep is reached.
template <domain::persistence_domain D>
bool stored_space<D>::remove_if_unnamed(const directory_entry& of, std::int64_t now_ms,
                                        std::size_t& parts_left, sweep_result& result) {
  if (is_named(of, now_ms, result)) return true;
  while (parts_left != 0) {
    if (remove_some_parts(of, parts_left, result)) return true;
  }
  return false;
}

/// Returns whether an item names the parts. An item that is absent for every member is removed.
template <domain::persistence_domain D>
bool stored_space<D>::is_named(const directory_entry& of, std::int64_t now_ms,
                               sweep_result& result) {
  const std::uint64_t hash = stored::hash_in(of.item_name);
  const passage mine(gate_);
  const std::lock_guard lock(stripe_of(hash).mutex);
  entry found;
  found.name = of.item_name;
  if (!read_bytes(found)) return false;
  // A damaged item may name the parts.
  if (!stored::is_sound_item(found.bytes)) return true;
  interpret(found, now_ms);
  if (found.set != of.set) return false;
  if (found.is_live) return true;
  write(hash, found, std::nullopt);
  uses_.remove(hash);
  ++result.removed;
  return false;
}

/// Removes some parts, and with the last ones the entry of the directory. Returns true then.
template <domain::persistence_domain D>
bool stored_space<D>::remove_some_parts(const directory_entry& of, std::size_t& parts_left,
                                        sweep_result& result) {
  const std::size_t limit = std::min(parts_left, max_batch_parts);
  const std::string head = stored::part_key(of.set, {});
  const passage mine(gate_);
  db::WriteBatch batch;
  std::size_t parts = 0;
  std::int64_t bytes = 0;
  bool is_last = true;
  {
    stored::merged_cursor at(std::unique_ptr<db::Iterator>(store_.NewIterator({})), {}, head);
    for (; is_last && at.is_valid() && at.key().starts_with(head); at.next()) {
      is_last = parts != limit;
      if (!is_last) break;
      batch.Delete(at.key());
      bytes += static_cast<std::int64_t>(at.key().size() + at.value().size());
      ++parts;
    }
    stored::require(at.status(), options_.path);
  }
  if (is_last) {
    const std::string key = stored::set_key(of.set);
    batch.Delete(key);
    bytes += static_cast<std::int64_t>(key.size() + of.item_name.size());
  }
  stored::require(store_.Write({}, &batch), options_.path);
  part_bytes_.add(-bytes);
  result.parts += parts;
  parts_left -= std::min(parts_left, std::max<std::size_t>(parts, 1));
  return is_last;
}

}  // namespace outlast::server
