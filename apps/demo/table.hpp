// The demo's map: a durable hash table in a pool of its own.
#pragma once

#include <apps/demo/exchange.hpp>
#include <apps/demo/words.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace outlast::apps::demo {

/// Words and their occurrences, with the durability of `Policy`.
///
/// Thread-safety: `ingest` may be called concurrently for words of different owners.
template <class Policy>
class word_table {
 public:
  using domain = typename Policy::domain_type;

  /// Opens the pool and recovers the table, or creates both. The table grows with the words.
  word_table(const std::filesystem::path& file, std::size_t pool_bytes)
      : pool_(basic_pool<domain>::open_or_create(file.string(), options_for(pool_bytes))),
        table_(std::in_place, pool_, "words") {}

  /// Counts the word at `position`. Returns false if the map has that position already, in a
  /// replay. Lock-free; durable at return if the policy is.
  bool ingest(const word_key& key, std::uint64_t position, bool even_if_known = false) {
    // Each word has one writer, so no other thread can update it between the lookup and the update.
    const std::optional<std::uint64_t> packed = table_->get(key);
    if (!packed) return table_->insert(key, occurrences{1, position}.pack());
    const occurrences before = occurrences::unpack(*packed);
    if (position <= before.last && !even_if_known) return false;
    return table_->update(key, before.followed_by(position).pack());
  }

  /// Calls `visit(key, packed occurrences)` for each word. Requires: no concurrent call.
  template <class Visit>
  void for_each(Visit&& visit) const {
    table_->for_each(std::forward<Visit>(visit));
  }

  /// Closes the pool cleanly. Requires: no later call.
  void close() {
    table_.reset();
    pool_.close();
  }

 private:
  using table = lockfree::hash_table<word_key, std::uint64_t, Policy>;

  static pool_options options_for(std::size_t pool_bytes) {
    pool_options options;
    options.size_bytes = pool_bytes;
    return options;
  }

  basic_pool<domain> pool_;
  std::optional<table> table_;
};

}  // namespace outlast::apps::demo
