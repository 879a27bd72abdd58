// A store as the key space of a server: removal of items that have expired or were erased.
#pragma once

#include <outlast/base/error.hpp>
#include <src/server/stored/status_errors.hpp>
#include <src/server/stored/stored_space.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace outlast::server {

template <domain::persistence_domain D>
sweep_result stored_space<D>::sweep(std::int64_t now_ms, std::size_t count) {
  if (gate_.is_mine()) throw std::logic_error("sweep() is called within together()");
  const std::lock_guard alone(sweeping_);
  settle_erasure(now_ms);
  sweep_result result;
  const std::size_t limit = std::max<std::size_t>(count, 1);
  if (!sweeps_directory_) {
    for (std::string& name : find_removable(now_ms, limit, result)) {
      if (remove_if_dead(std::move(name), now_ms)) ++result.removed;
    }
    sweeps_directory_ = sweep_cursor_ == 0;
  }
  std::size_t parts_left = limit * parts_of_an_item;
  sweep_hints(now_ms, parts_left, result);
  if (sweeps_directory_) {
    const std::size_t left = limit - std::min(limit, result.visited);
    result.is_at_end = sweep_directory(now_ms, left, parts_left, result);
    sweeps_directory_ = !result.is_at_end;
  }
  return result;
}

/// Makes an erasure that is due independent of the clock, which can move back after an opening.
template <domain::persistence_domain D>
void stored_space<D>::settle_erasure(std::int64_t now_ms) {
  {
    const passage mine(gate_);
    if (!record_.is_due(now_ms)) return;
  }
  const std::lock_guard alone(gate_);
  if (!record_.is_due(now_ms)) return;
  try {
    record_.write(record_.after_due());
  } catch (const out_of_space&) {
    return;  // The store is full: the items are absent nevertheless, and the sweep makes space.
  } catch (const error& failure) {
    if (failure.reason() != errc::no_space) throw;
  }
}

/// Returns the stored keys of absent items among the next `limit`, and moves the sweep after them.
template <domain::persistence_domain D>
std::vector<std::string> stored_space<D>::find_removable(std::int64_t now_ms, std::size_t limit,
                                                         sweep_result& result) {
  const passage mine(gate_);
  std::vector<std::string> names;
  const auto look = [&](const stored::merged_cursor& at, std::uint64_t) {
    ++result.visited;
    // A read reports damage. The sweep passes it, because it would stop there for ever.
    if (!stored::is_sound_item(at.value())) return;
    if (!is_live(require_head(at.value()), now_ms)) names.emplace_back(at.key());
  };
  sweep_cursor_ = walk(sweep_cursor_, limit, look);
  return names;
}

/// Removes an item if it is still absent for every member.
template <domain::persistence_domain D>
bool stored_space<D>::remove_if_dead(std::string name, std::int64_t now_ms) {
  const std::uint64_t hash = stored::hash_in(name);
  const passage mine(gate_);
  const std::lock_guard lock(stripe_of(hash).mutex);
  entry found;
  found.name = std::move(name);
  read_entry(found, now_ms);
  if (found.is_live || found.bytes.empty()) return false;
  write(hash, found, std::nullopt);
  uses_.remove(hash);
  return true;
}

}  // namespace outlast::server
