// A key space in ordinary memory, for tests of protocols: with expiry, marks, numbers and tokens,
// and with failures that a test injects.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/server/items.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::test {

/// Throws std::logic_error if a callback uses the space, which an item_space forbids.
/// Thread-safety: all members may be called concurrently.
class fake_items final : public server::item_space {
 public:
  /// Lets the next change that has an effect throw `problem`, without its effect. Several calls are
  /// a sequence.
  template <class Error>
  void fail_next_change(Error problem) {
    const std::lock_guard lock(mutex_);
    failures_.push_back(std::make_exception_ptr(std::move(problem)));
  }
  [[nodiscard]] std::size_t failures_left() const {
    const std::lock_guard lock(mutex_);
    return failures_.size();
  }
  /// Bounds the bytes of keys and values: a change that needs more throws out_of_space. 0: none.
  void set_limit(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
  }
  /// Removes an item as if its space were needed. Returns false if it is absent.
  bool evict(std::string_view key) {
    const std::lock_guard lock(mutex_);
    auto& bucket = bucket_of(key);
    const auto at = bucket.find(key);
    if (at == bucket.end()) return false;
    remove(bucket, at);
    ++evictions_;
    return true;
  }
  /// Makes all changes durable that have a token up to `reached`.
  void make_durable(server::token reached) {
    const std::lock_guard lock(mutex_);
    durable_ = std::max(durable_, std::min(reached, last_token_));
  }
  void make_all_durable() { make_durable(last_token()); }
  /// Returns the token of the last change.
  [[nodiscard]] server::token last_token() const {
    const std::lock_guard lock(mutex_);
    return last_token_;
  }
  /// Returns the number of calls of read() and modify().
  [[nodiscard]] std::uint64_t calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  /// Lets the next item that is stored have this number, and later ones greater numbers.
  void set_next_unique(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    last_unique_ = number - 1;
  }

  bool read(std::string_view key, std::int64_t now_ms, server::use how, reader look) override {
    const call guard(*this, now_ms);
    ++calls_;
    auto& bucket = bucket_of(key);
    const auto at = bucket.find(key);
    if (at == bucket.end() || is_absent(at->second, now_ms)) return false;
    look(seen(at->second));
    if (how == server::use::counts) at->second.use(now_ms);
    return true;
  }

  server::change_result modify(std::string_view key, std::int64_t now_ms, decider decide) override {
    using kind = server::item_change::kind;
    const call guard(*this, now_ms);
    ++calls_;
    auto& bucket = bucket_of(key);
    auto at = bucket.find(key);
    if (at != bucket.end() && is_absent(at->second, now_ms)) {
      remove(bucket, at);
      at = bucket.end();
    }
    const bool is_there = at != bucket.end();
    const server::item old = is_there ? seen(at->second) : server::item{};
    (void)decide(is_there ? &old : nullptr);  // as if space had to be made first
    const server::item_change change = decide(is_there ? &old : nullptr);
    const bool adjusts_nothing = !is_there && change.what != kind::put;
    if (change.what == kind::nothing || adjusts_nothing) {
      if (is_there && change.how == server::use::counts) at->second.use(now_ms);
      return {.changed = false, .unique = old.unique, .version = old.version};
    }
    throw_if_asked();
    if (change.what == kind::erase) {
      remove(bucket, at);
      return {.changed = true, .unique = 0, .version = ++last_token_};
    }
    if (change.what == kind::put) {
      std::string value(change.front);
      value.append(change.back);
      store(bucket, key, std::move(value), change, now_ms);
      at = bucket.find(key);
    }
    stored& now = at->second;
    now.flags = change.flags;
    now.expires_ms = change.expires_ms;
    now.marks = change.marks;
    now.version = ++last_token_;
    if (change.how == server::use::counts) now.use(now_ms);
    return {.changed = true, .unique = now.unique, .version = now.version};
  }

  /// Does the work under the lock. The work may use the space.
  void together(base::function_ref<void()> work) override {
    const std::lock_guard lock(mutex_);
    work();
  }

  server::token erase_all(std::int64_t now_ms, std::int64_t from_ms) override {
    const call guard(*this, now_ms);
    throw_if_asked();
    erase_from_ms_ = from_ms > now_ms ? from_ms : 0;
    if (from_ms <= now_ms) {
      for (auto& bucket : buckets_) bucket.clear();
      items_ = bytes_ = 0;
    }
    return ++last_token_;
  }

  std::uint64_t scan(std::uint64_t cursor, std::size_t count, std::int64_t now_ms,
                     visitor visit) override {
    const call guard(*this, now_ms);
    for (std::size_t left = std::max<std::size_t>(count, 1); left != 0; --left) {
      if (cursor >= buckets_.size()) return 0;
      for (const auto& [key, one] : buckets_[cursor]) {
        if (!is_absent(one, now_ms)) visit(key, seen(one));
      }
      ++cursor;
    }
    return cursor >= buckets_.size() ? 0 : cursor;
  }

  [[nodiscard]] std::uint64_t items() const override {
    const std::lock_guard lock(mutex_);
    return items_;
  }
  [[nodiscard]] std::uint64_t bytes() const override {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  [[nodiscard]] std::uint64_t limit_bytes() const override {
    const std::lock_guard lock(mutex_);
    return limit_;
  }
  bool set_limit_bytes(std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (limit_ == 0) return false;
    limit_ = bytes;
    return true;
  }
  [[nodiscard]] std::uint64_t evictions() const override {
    const std::lock_guard lock(mutex_);
    return evictions_;
  }
  [[nodiscard]] server::token present_token() const override { return last_token(); }
  [[nodiscard]] server::token durable_token() const override {
    const std::lock_guard lock(mutex_);
    return durable_;
  }
  [[nodiscard]] std::string guarantee() const override {
    return "Data survives nothing: a test keeps it in ordinary memory.";
  }

 private:
  struct stored {
    std::string value;
    std::uint32_t flags = 0;
    std::uint64_t unique = 0;
    std::int64_t expires_ms = 0;
    std::int64_t accessed_ms = 0;
    std::int64_t stored_ms = 0;
    bool was_read = false;
    server::item_marks marks = {};
    server::token version = 0;
    std::uint8_t type = 0;

    void use(std::int64_t now_ms) noexcept {
      was_read = true;
      accessed_ms = now_ms;
    }
  };
  using bucket_type = std::map<std::string, stored, std::less<>>;

  /// A call of the space, under its lock. Also removes items whose time of erase_all() is reached.
  class call {
   public:
    call(fake_items& of, std::int64_t now_ms) : lock_(of.mutex_), of_(of) {
      if (of.is_in_call_) throw std::logic_error("a callback uses the item space");
      of.erase_if_reached(now_ms);
      of.is_in_call_ = true;
    }
    ~call() { of_.is_in_call_ = false; }
    call(const call&) = delete;
    call& operator=(const call&) = delete;

   private:
    std::lock_guard<std::recursive_mutex> lock_;
    fake_items& of_;
  };

  static server::item seen(const stored& from) {
    return {.value = from.value,
            .flags = from.flags,
            .unique = from.unique,
            .expires_ms = from.expires_ms,
            .accessed_ms = from.accessed_ms,
            .was_read = from.was_read,
            .marks = from.marks,
            .version = from.version,
            .type = from.type};
  }
  static bool is_absent(const stored& one, std::int64_t now_ms) {
    return one.expires_ms != 0 && one.expires_ms <= now_ms;
  }
  bucket_type& bucket_of(std::string_view key) {
    return buckets_[std::hash<std::string_view>()(key) % buckets_.size()];
  }

  void store(bucket_type& bucket, std::string_view key, std::string value,
             const server::item_change& change, std::int64_t now_ms) {
    const auto at = bucket.find(key);
    const std::uint64_t old_bytes = at == bucket.end() ? 0 : key.size() + at->second.value.size();
    const std::uint64_t bytes = bytes_ - old_bytes + key.size() + value.size();
    if (limit_ != 0 && bytes > limit_) {
      throw out_of_space("the fake key space has " + std::to_string(limit_) + " bytes");
    }
    if (change.unique == 0) ++last_unique_;
    stored now;
    now.value = std::move(value);
    now.unique = change.unique == 0 ? last_unique_ : change.unique;
    now.type = change.type;
    now.accessed_ms = now.stored_ms = now_ms;
    items_ += at == bucket.end() ? 1 : 0;
    bytes_ = bytes;
    bucket.insert_or_assign(std::string(key), std::move(now));
  }
  void remove(bucket_type& bucket, bucket_type::iterator at) {
    bytes_ -= at->first.size() + at->second.value.size();
    --items_;
    bucket.erase(at);
  }
  void erase_if_reached(std::int64_t now_ms) {
    if (erase_from_ms_ == 0 || now_ms < erase_from_ms_) return;
    for (auto& bucket : buckets_) {
      for (auto at = bucket.begin(); at != bucket.end();) {
        const auto one = at++;
        if (one->second.stored_ms < erase_from_ms_) remove(bucket, one);
      }
    }
    erase_from_ms_ = 0;
  }
  void throw_if_asked() {
    if (failures_.empty()) return;
    const std::exception_ptr problem = failures_.front();
    failures_.pop_front();
    std::rethrow_exception(problem);
  }

  mutable std::recursive_mutex mutex_;
  std::array<bucket_type, 64> buckets_;
  std::deque<std::exception_ptr> failures_;
  std::uint64_t items_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t limit_ = 0;
  std::uint64_t evictions_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t last_unique_ = 0;
  server::token last_token_ = 0;
  server::token durable_ = 0;
  std::int64_t erase_from_ms_ = 0;  ///< 0: no call of erase_all() is outstanding
  bool is_in_call_ = false;
};

}  // namespace outlast::test
