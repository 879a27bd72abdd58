// A key space in ordinary memory, for the tests of RESP.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/server/items.hpp>

#include <tests/unit/server/resp_fake_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::server {

/// A key space of one thread. It throws std::logic_error if it is used from inside a call that it
/// makes, or if transactions are nested.
class resp_fake_items final : public item_space {
 public:
  /// The next changes fail after this many more; negative: none fails.
  int changes_until_failure = -1;
  int failures = -1;             ///< number of changes that fail then; negative: all
  bool fails_for_space = true;   ///< out_of_space, or a device error
  bool visits_twice = false;     ///< scan() visits each key twice, as a table that grows may
  bool fails_at_commit = false;  ///< together() fails after its work
  token durable = 0;
  std::uint64_t limit = 1'000'000;
  int transactions = 0;  ///< calls of together()
  std::size_t max_value_bytes = std::size_t{1} << 30;
  bool keeps_parts = false;  ///< as a store, or as a cache
  int visited_parts = 0;     ///< by walks of parts

  bool read(std::string_view key, std::int64_t now_ms, use how, reader look) override {
    const scope inside(*this);
    const auto found = find(key, now_ms);
    if (found == entries_.end()) return false;
    look(view_of(found->second));
    if (how == use::counts) {
      found->second.accessed_ms = now_ms;
      found->second.was_read = true;
    }
    return true;
  }

  change_result modify(std::string_view key, std::int64_t now_ms, decider decide) override {
    const scope inside(*this);
    const auto found = find(key, now_ms);
    const bool is_present = found != entries_.end();
    item seen;
    if (is_present) seen = view_of(found->second);
    (void)decide(is_present ? &seen : nullptr);  // as if space had to be made first
    const item_change wanted = decide(is_present ? &seen : nullptr);
    return apply(key, found, wanted, now_ms, nullptr);
  }

  [[nodiscard]] bool has_parts() const override { return keeps_parts; }

  bool read_parts(std::string_view key, std::int64_t now_ms, use how, parts_reader look) override {
    if (!keeps_parts) return item_space::read_parts(key, now_ms, how, look);
    const scope inside(*this);
    const auto found = find(key, now_ms);
    if (found == entries_.end()) return false;
    resp_fake_parts parts(found->second.parts, false);
    look(view_of(found->second), parts);
    visited_parts += parts.visited;
    if (how == use::counts) {
      found->second.accessed_ms = now_ms;
      found->second.was_read = true;
    }
    return true;
  }

  change_result modify_parts(std::string_view key, std::int64_t now_ms,
                             parts_decider decide) override {
    if (!keeps_parts) return item_space::modify_parts(key, now_ms, decide);
    const scope inside(*this);
    const auto found = find(key, now_ms);
    const bool is_present = found != entries_.end();
    item seen;
    if (is_present) seen = view_of(found->second);
    part_map changed = is_present ? found->second.parts : part_map();
    resp_fake_parts parts(changed, true);
    const item_change wanted = decide(is_present ? &seen : nullptr, parts);
    visited_parts += parts.visited;
    const bool keeps = wanted.what == item_change::kind::put && wanted.type != 0;
    if (parts.is_changed && !keeps) throw std::logic_error("parts of an item that is not put");
    if (keeps && is_present && !parts.is_cleared && seen.type != wanted.type) {
      throw std::logic_error("an item of another type keeps its parts");
    }
    if (keeps && changed.empty()) throw std::logic_error("an item without elements");
    return apply(key, found, wanted, now_ms, &changed);
  }

  void together(base::function_ref<void()> work) override {
    if (is_together_) throw std::logic_error("together() inside together()");
    is_together_ = true;
    ++transactions;
    try {
      work();
    } catch (...) {
      is_together_ = false;
      throw;
    }
    is_together_ = false;
    if (fails_at_commit) throw out_of_space("the pool is full");
  }

  token erase_all(std::int64_t /*now_ms*/, std::int64_t /*from_ms*/) override {
    const scope inside(*this);
    fail_if_wanted({});
    entries_.clear();
    return ++token_;
  }

  /// The cursor is the place in the order of keys, plus one.
  std::uint64_t scan(std::uint64_t cursor, std::size_t count, std::int64_t now_ms,
                     visitor visit) override {
    const scope inside(*this);
    std::uint64_t place = 0;
    for (const auto& [key, kept] : entries_) {
      ++place;
      if (place <= cursor) continue;
      if (place - cursor > count) return place - 1;
      if (has_expired(kept, now_ms)) continue;
      visit(key, view_of(kept));
      if (visits_twice) visit(key, view_of(kept));
    }
    return 0;
  }

  [[nodiscard]] std::uint64_t items() const override { return entries_.size(); }
  [[nodiscard]] std::uint64_t bytes() const override { return 100 * entries_.size(); }
  [[nodiscard]] std::uint64_t limit_bytes() const override { return limit; }
  [[nodiscard]] std::uint64_t evictions() const override { return 0; }
  [[nodiscard]] token durable_token() const override { return durable; }
  [[nodiscard]] token present_token() const override { return token_; }
  [[nodiscard]] std::string guarantee() const override {
    return "a crash removes at most 20 ms of changes";
  }
  [[nodiscard]] token latest() const noexcept { return token_; }

 private:
  struct entry {
    std::string value;
    std::uint32_t flags = 0;
    std::uint64_t unique = 0;
    std::int64_t expires_ms = 0;
    std::int64_t accessed_ms = 0;
    bool was_read = false;
    item_marks marks;
    token version = 0;
    std::uint8_t type = 0;
    resp_fake_parts::part_map parts;
  };
  using part_map = resp_fake_parts::part_map;
  using entry_map = std::map<std::string, entry, std::less<>>;

  class scope {
   public:
    explicit scope(resp_fake_items& space) : space_(space) {
      if (space_.is_inside_) throw std::logic_error("a call of the space inside its own call");
      space_.is_inside_ = true;
    }
    ~scope() { space_.is_inside_ = false; }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    resp_fake_items& space_;
  };

  static bool has_expired(const entry& kept, std::int64_t now_ms) {
    return kept.expires_ms != 0 && kept.expires_ms <= now_ms;
  }
  static item view_of(const entry& kept) {
    return {kept.value,    kept.flags, kept.unique,  kept.expires_ms, kept.accessed_ms,
            kept.was_read, kept.marks, kept.version, kept.type};
  }
  entry_map::iterator find(std::string_view key, std::int64_t now_ms) {
    const auto found = entries_.find(key);
    if (found == entries_.end() || !has_expired(found->second, now_ms)) return found;
    entries_.erase(found);
    return entries_.end();
  }
  change_result apply(std::string_view key, entry_map::iterator found, const item_change& wanted,
                      std::int64_t now_ms, part_map* parts) {
    const bool is_present = found != entries_.end();
    const bool changes = wanted.what == item_change::kind::put ||
                         (is_present && wanted.what != item_change::kind::nothing);
    if (!changes) return {false, 0, is_present ? found->second.version : 0};
    fail_if_wanted(wanted);
    if (wanted.what == item_change::kind::erase) {
      entries_.erase(found);
      return {true, 0, ++token_};
    }
    entry& target = is_present ? found->second : entries_[std::string(key)];
    if (wanted.what == item_change::kind::put) {
      target.value = std::string(wanted.front).append(wanted.back);
      target.unique = wanted.unique != 0 ? wanted.unique : ++unique_;
      target.accessed_ms = now_ms;
      target.was_read = false;
      target.type = wanted.type;
      if (wanted.type == 0) target.parts.clear();
      if (wanted.type != 0 && parts != nullptr) target.parts = std::move(*parts);
    }
    target.flags = wanted.flags;
    target.expires_ms = wanted.expires_ms;
    target.marks = wanted.marks;
    target.version = ++token_;
    return {true, target.unique, token_};
  }
  void fail_if_wanted(const item_change& wanted) {
    if (wanted.front.size() + wanted.back.size() > max_value_bytes) {
      throw out_of_space("the value is larger than the pool");
    }
    if (changes_until_failure < 0) return;
    if (changes_until_failure-- > 0) return;
    changes_until_failure = 0;
    if (failures == 0) return;
    --failures;
    if (fails_for_space) throw out_of_space("the pool is full");
    throw error(errc::io_failure, "/pools/one", "the device failed\r\nwith two lines");
  }

  entry_map entries_;
  token token_ = 0;
  std::uint64_t unique_ = 0;
  bool is_inside_ = false;
  bool is_together_ = false;
};

}  // namespace outlast::server
