// A store as the key space of a server: items with parts.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/db/options.hpp>
#include <outlast/db/status.hpp>
#include <outlast/db/write_batch.hpp>
#include <src/server/stored/status_errors.hpp>
#include <src/server/stored/stored_space.hpp>

#include <utility>

namespace outlast::server {

/// Counts the parts and the directory. `at`: after the items.
template <domain::persistence_domain D>
void stored_space<D>::count_parts(stored::merged_cursor& at) {
  std::int64_t bytes = 0;
  for (; at.is_valid(); at.next()) {
    const char prefix = at.key().front();
    if (prefix > stored::set_prefix || prefix < stored::part_prefix) break;  // of a later format
    const bool is_sound = prefix == stored::part_prefix
                              ? at.key().size() >= stored::key_head_bytes
                              : stored::is_sound_set(at.key(), at.value());
    if (!is_sound) {
      throw corruption(options_.path, "an entry of the parts of items has a key of " +
                                          std::to_string(at.key().size()) +
                                          " bytes and a value of " +
                                          std::to_string(at.value().size()) +
                                          " bytes, which is too short; restore a backup");
    }
    bytes += static_cast<std::int64_t>(at.key().size() + at.value().size());
  }
  part_bytes_.start_at(bytes);
}

template <domain::persistence_domain D>
bool stored_space<D>::read_parts(std::string_view key, std::int64_t now_ms, use how,
                                 parts_reader look) {
  const std::uint64_t hash = record_.hash_of(key);
  entry found;
  token version = 0;
  {
    const passage mine(gate_);
    // A snapshot of the store would be a write of the store for each reader after a change.
    const std::unique_lock lock = lock_of(hash);
    const item seen = look_up(found, hash, key, now_ms);
    version = version_seen(hash, found.name);
    if (found.is_live) {
      stored::part_changes parts({store_, options_.path, pending_changes(), found.set, nullptr});
      look(seen, parts);
      if (how == use::counts) uses_.note(hash, now_ms, true);
    }
  }
  wait_for(version);
  return found.is_live;
}

template <domain::persistence_domain D>
change_result stored_space<D>::modify_parts(std::string_view key, std::int64_t now_ms,
                                            parts_decider decide) {
  const std::uint64_t hash = record_.hash_of(key);
  change_result result;
  {
    const passage mine(gate_);
    const std::unique_lock lock = lock_of(hash);
    entry old;
    const item seen = look_up(old, hash, key, now_ms);
    stored::part_changes parts(
        {store_, options_.path, pending_changes(), old.is_live ? old.set : 0, &record_});
    const item_change then = decide(old.is_live ? &seen : nullptr, parts);
    require_valid(then, old, parts);
    const bool has_parts = then.what == item_change::kind::put && then.type != 0;
    if (has_parts) {
      record_.allow_parts();
      if (parts.set() != old.set) parts.add_directory_entry(old.name);
    }
    result = apply(then, hash, old, seen, now_ms, has_parts ? &parts : nullptr);
  }
  wait_for(result.version);
  return result;
}

/// Throws if a change does not fit the changes of the parts. An item that is erased, or replaced by
/// a string, loses the parts, thus their changes have no effect then.
template <domain::persistence_domain D>
void stored_space<D>::require_valid(const item_change& then, const entry& old,
                                    stored::part_changes& parts) const {
  using kind = item_change::kind;
  const bool keeps_item = then.what == kind::nothing || then.what == kind::adjust;
  if (keeps_item && parts.has_changes()) {
    throw error(errc::bad_argument, options_.path,
                "a call of modify_parts() changes parts and puts no item; put the item");
  }
  if (then.what != kind::put || then.type == 0) return;
  if (then.type > stored::last_type) {
    throw error(errc::bad_argument, options_.path,
                "an item has type " + std::to_string(then.type) + "; the greatest one is " +
                    std::to_string(stored::last_type));
  }
  if (old.is_live && old.set != 0 && stored::type_in(old.head.marks) != then.type &&
      parts.set() == old.set) {
    throw error(errc::bad_argument, options_.path,
                "an item of type " + std::to_string(stored::type_in(old.head.marks)) +
                    " becomes one of type " + std::to_string(then.type) +
                    ", and its parts stay; clear them first");
  }
}

/// Writes an item with the changes of its parts.
template <domain::persistence_domain D>
token stored_space<D>::write_with_parts(std::uint64_t hash, std::string_view name,
                                        std::string value, stored::part_changes& parts) {
  const std::int64_t part_bytes = parts.added_bytes();
  stored::change_map& changes = parts.changes();
  changes.insert_or_assign(std::string(name), std::move(value));
  if (gate_.is_mine()) {
    stored::apply_changes(pending_.changes, changes);
    pending_.part_bytes += part_bytes;
    return present_token();
  }
  db::WriteBatch batch;
  stored::add_to(batch, changes);
  stripe& here = stripe_of(hash);
  {
    const change_scope changing(*this, here);
    stored::require(store_.Write({}, &batch), options_.path);
  }
  part_bytes_.add(part_bytes);
  return here.version.load(std::memory_order_relaxed);
}

}  // namespace outlast::server
