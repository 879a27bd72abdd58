// The implementation of stored_items, for any domain whose threads it serves.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/keyed_hash.hpp>
#include <outlast/base/sharded_count.hpp>
#include <outlast/db/db.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <outlast/server/stored_items.hpp>
#include <src/server/stored/format.hpp>
#include <src/server/stored/part_changes.hpp>
#include <src/server/stored/pending_changes.hpp>
#include <src/server/stored/space_gate.hpp>
#include <src/server/stored/space_record.hpp>
#include <src/server/stored/status_errors.hpp>
#include <src/server/stored/use_table.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server {

/// Comments: as in stored_items, whose members these are. space_calls.hpp, space_parts.hpp,
/// space_sweep.hpp and space_part_sweep.hpp define them. `D`: the domain whose threads use the
/// space. The locks are those of the operating system if its threads are, so that a thread that
/// waits for a device sleeps.
template <domain::persistence_domain D>
class stored_space : public item_space {
 public:
  /// `seed`: of the keys' hashes in a new space.
  explicit stored_space(db::DB& store, const stored_items_options& options = {},
                        const base::hash_key& seed = stored::random_seed());

  bool read(std::string_view key, std::int64_t now_ms, use how, reader look) override;
  change_result modify(std::string_view key, std::int64_t now_ms, decider decide) override;
  bool read_parts(std::string_view key, std::int64_t now_ms, use how, parts_reader look) override;
  change_result modify_parts(std::string_view key, std::int64_t now_ms,
                             parts_decider decide) override;
  void together(base::function_ref<void()> work) override;
  token erase_all(std::int64_t now_ms, std::int64_t from_ms) override;
  std::uint64_t scan(std::uint64_t cursor, std::size_t count, std::int64_t now_ms,
                     visitor visit) override;
  sweep_result sweep(std::int64_t now_ms, std::size_t count);
  void make_durable();
  [[nodiscard]] std::uint64_t items() const override { return total(items_, pending_.items); }
  [[nodiscard]] std::uint64_t bytes() const override {
    return total(bytes_, pending_.bytes) + total(part_bytes_, pending_.part_bytes);
  }
  [[nodiscard]] std::uint64_t limit_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t evictions() const override { return 0; }
  [[nodiscard]] bool has_parts() const override { return true; }
  [[nodiscard]] token durable_token() const override;
  [[nodiscard]] token present_token() const override;
  [[nodiscard]] std::string guarantee() const override;

 private:
  using lock_type = stored::space_lock<D>;
  using gate_type = stored::space_gate<D>;
  using passage = typename gate_type::passage;

  /// The parts that a sweep removes for each item that it may visit.
  static constexpr std::size_t parts_of_an_item = 16;
  /// The parts that one batch removes. Calls of together() wait for a batch.
  static constexpr std::size_t max_batch_parts = 256;
  static constexpr std::size_t stripe_count = domain::has_real_threads<D> ? 512 : 2;

  /// The lock of some keys, and the token of their last change.
  struct alignas(base::cache_line_size) stripe {
    lock_type mutex;
    domain::volatile_word<D, std::uint32_t> is_changing{0};  ///< a change has no token yet
    domain::volatile_word<D, token> version{0};
  };

  /// A write to a key of a stripe, whose lock the thread holds. The destructor gives it a token.
  class change_scope {
   public:
    change_scope(stored_space& in, stripe& of);
    ~change_scope();
    change_scope(const change_scope&) = delete;
    change_scope& operator=(const change_scope&) = delete;

   private:
    stored_space& in_;
    stripe& of_;
  };

  /// The changes of a call of together(), and what they add to the counts.
  struct pending {
    stored::change_map changes;
    std::int64_t items = 0;
    std::int64_t bytes = 0;
    std::int64_t part_bytes = 0;
    token seen = 0;  ///< of the changes that it must wait for
  };

  /// An item in the store, with its key and as it is at a time.
  struct entry {
    std::string name;   ///< the key in the store
    std::string bytes;  ///< empty: not in the store
    stored::item_head head;
    std::uint64_t set = 0;  ///< the number of its parts; 0: none
    bool is_counted = false;
    bool is_live = false;

    [[nodiscard]] std::int64_t size() const noexcept {
      return static_cast<std::int64_t>(name.size() + bytes.size());
    }
  };

  /// An entry of the directory of parts.
  struct directory_entry {
    std::uint64_t set = 0;
    std::string item_name;  ///< the key of the item in the store
  };

  /// Numbers of parts that no item names, for the next sweep. The directory has all of them, thus
  /// numbers may be missing here, and a number may be one that an item names.
  class hints {
   public:
    hints() { sets_.reserve(max_count); }
    void push(std::uint64_t set) noexcept {
      const std::lock_guard lock(mutex_);
      if (sets_.size() < max_count) sets_.push_back(set);
    }
    /// Returns a number, or 0.
    [[nodiscard]] std::uint64_t pop() noexcept {
      const std::lock_guard lock(mutex_);
      if (sets_.empty()) return 0;
      const std::uint64_t last = sets_.back();
      sets_.pop_back();
      return last;
    }

   private:
    static constexpr std::size_t max_count = 4096;

    std::mutex mutex_;
    std::vector<std::uint64_t> sets_;
  };

  void count_all();
  void count_parts(stored::merged_cursor& at);

  [[nodiscard]] stripe& stripe_of(std::uint64_t hash) noexcept {
    return stripes_[hash % stripe_count];
  }
  [[nodiscard]] bool is_live(const stored::item_head& head, std::int64_t now_ms) const noexcept {
    return (head.expires_ms == 0 || head.expires_ms > now_ms) && !record_.is_erased(head, now_ms);
  }
  [[nodiscard]] bool is_counted(const stored::item_head& head) const noexcept {
    return head.generation >= record_.generation();
  }
  [[nodiscard]] stored::item_head require_head(std::string_view value) const;
  void read_entry(entry& into, std::int64_t now_ms);
  /// Reads the bytes of an entry. Returns false if the key is not in the store.
  bool read_bytes(entry& into);
  void interpret(entry& into, std::int64_t now_ms) const;
  /// Returns the changes of the calling thread's together(), or nullptr.
  [[nodiscard]] const stored::change_map* pending_changes() const {
    return gate_.is_mine() ? &pending_.changes : nullptr;
  }
  [[nodiscard]] std::unique_lock<lock_type> lock_of(std::uint64_t hash);
  [[nodiscard]] token version_seen(std::uint64_t hash, std::string_view name);
  [[nodiscard]] item item_of(std::string_view value, std::uint64_t hash, token version) const;
  [[nodiscard]] stored::merged_cursor cursor_from(std::uint64_t hash);
  /// Calls `visit(cursor, hash)` with the stored items of the next `count` hashes. Returns the hash
  /// from which the next call continues, or 0 at the end. Requires: the thread has passed the gate.
  template <class Visit>
  std::uint64_t walk(std::uint64_t from, std::size_t count, Visit&& visit) {
    stored::merged_cursor at = cursor_from(from);
    std::size_t left = std::max<std::size_t>(count, 1);
    std::uint64_t hash = 0;
    for (bool is_first = true; at.is_valid() && stored::is_item_key(at.key()); at.next()) {
      const std::uint64_t here = stored::hash_in(at.key());
      if (is_first || here != hash) {
        if (left-- == 0) return here;
        hash = here;
        is_first = false;
      }
      visit(at, hash);
    }
    stored::require(at.status(), options_.path);
    return 0;
  }

  /// Reads the item of a key for a change, under its lock. Returns what `decide` sees.
  [[nodiscard]] item look_up(entry& into, std::uint64_t hash, std::string_view key,
                             std::int64_t now_ms);
  /// Makes a change of an item, and of its parts if it has some. `old`, `seen`: of look_up().
  change_result apply(const item_change& then, std::uint64_t hash, const entry& old,
                      const item& seen, std::int64_t now_ms, stored::part_changes* parts);
  [[nodiscard]] std::string value_after(const item_change& then, const entry& old,
                                        std::int64_t now_ms, std::uint64_t set,
                                        std::uint64_t& unique);
  void require_valid(const item_change& then, const entry& old, stored::part_changes& parts) const;
  token write(std::uint64_t hash, const entry& old, std::optional<std::string> value,
              stored::part_changes* parts = nullptr);
  token write_with_parts(std::uint64_t hash, std::string_view name, std::string value,
                         stored::part_changes& parts);
  token write_pending();
  token store_pending();

  void count(std::int64_t items, std::int64_t bytes) noexcept;
  [[nodiscard]] std::uint64_t total(const base::sharded_count& all, const std::int64_t& more) const;
  void raise_durable(token reached) noexcept;
  void wait_for(token version);

  void settle_erasure(std::int64_t now_ms);
  [[nodiscard]] std::vector<std::string> find_removable(std::int64_t now_ms, std::size_t limit,
                                                        sweep_result& result);
  [[nodiscard]] bool remove_if_dead(std::string name, std::int64_t now_ms);
  bool sweep_directory(std::int64_t now_ms, std::size_t count, std::size_t& parts_left,
                       sweep_result& result);
  void sweep_hints(std::int64_t now_ms, std::size_t& parts_left, sweep_result& result);
  [[nodiscard]] std::vector<directory_entry> next_sets(std::size_t limit, std::uint64_t& next);
  [[nodiscard]] bool remove_if_unnamed(const directory_entry& of, std::int64_t now_ms,
                                       std::size_t& parts_left, sweep_result& result);
  [[nodiscard]] bool is_named(const directory_entry& of, std::int64_t now_ms, sweep_result& result);
  [[nodiscard]] bool remove_some_parts(const directory_entry& of, std::size_t& parts_left,
                                       sweep_result& result);

  db::DB& store_;
  stored_items_options options_;
  stored::space_record<D> record_;
  mutable gate_type gate_;
  std::array<stripe, stripe_count> stripes_;
  stored::use_table uses_;
  base::sharded_count items_;
  base::sharded_count bytes_;  ///< of items
  base::sharded_count part_bytes_;
  domain::volatile_word<D, token> changes_{0};  ///< the token of the last change
  domain::volatile_word<D, token> durable_{0};
  pending pending_;  ///< of the thread that is alone
  lock_type sweeping_;
  std::uint64_t sweep_cursor_ = 0;
  std::uint64_t directory_cursor_ = 0;
  bool sweeps_directory_ = false;  ///< the items of this sweep are done
  hints unnamed_sets_;
};

}  // namespace outlast::server
