// The record of a served space: its seed, its erasures and the unique numbers that are reserved.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/base/keyed_hash.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/options.hpp>
#include <outlast/db/status.hpp>
#include <outlast/db/write_batch.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/volatile_word.hpp>
#include <src/server/stored/format.hpp>
#include <src/server/stored/space_gate.hpp>
#include <src/server/stored/status_errors.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::server::stored {

/// Numbers of one reservation, which waits until it is durable.
inline constexpr std::uint64_t numbers_of_block = std::uint64_t{1} << 16;
/// New numbers do not follow a chosen one from here on, so that they cannot run out.
inline constexpr std::uint64_t min_free_choice = std::uint64_t{1} << 63;

/// Returns a seed of hashes that no client can guess.
[[nodiscard]] base::hash_key random_seed();

/// Draws the numbers of items and of their parts.
class number_source {
 public:
  virtual ~number_source() = default;
  /// Returns a number that no item ever had, also after a crash. Throws as a change of the store.
  [[nodiscard]] virtual std::uint64_t next_number() = 0;
};

/// Thread-safety: next_number(), follow_number(), allow_parts() and the members without a write may
/// be called concurrently. write(), stage(), add_staged() and end_stage() require that no other
/// thread uses the record.
template <domain::persistence_domain D>
class space_record final : public number_source {
 public:
  /// Reads the record, or writes it to an empty store, whose keys are hashed with `seed`. Throws as
  /// stored_items().
  space_record(db::DB& store, std::string path, const base::hash_key& seed);

  [[nodiscard]] std::uint64_t hash_of(std::string_view key) const noexcept {
    return base::sip_hash<1, 3>(seed_, key);
  }

  [[nodiscard]] std::uint64_t next_number() override;
  /// Makes later numbers greater than one that a client has chosen. Throws as next_number().
  void follow_number(std::uint64_t chosen);

  /// Makes the space one that programs without items with parts refuse. The call is durable at
  /// return, and may be made concurrently. Throws as next_number(), without effect.
  void allow_parts();

  /// Returns true if the erasure for a later time is due. The answer stays true when the clock
  /// moves back.
  [[nodiscard]] bool is_due(std::int64_t now_ms) const noexcept;
  [[nodiscard]] bool is_erased(const item_head& head, std::int64_t now_ms) const noexcept {
    return head.generation < now_.generation || head.stored_ms < now_.erased_before_ms ||
           (is_due(now_ms) && head.stored_ms < now_.erase_at_ms);
  }
  [[nodiscard]] std::uint64_t generation() const noexcept { return now_.generation; }
  /// Returns the time with which an item is stored now: it is not before an erasure that is due.
  [[nodiscard]] std::int64_t time_of_storing(std::int64_t now_ms) const noexcept;

  /// Returns the record after an erasure. `from_ms`: as item_space::erase_all().
  [[nodiscard]] meta_record after_erasure(std::int64_t now_ms, std::int64_t from_ms) const noexcept;
  /// Returns the record in which an erasure that is due depends on the time no more.
  [[nodiscard]] meta_record after_due() const noexcept;

  /// Writes `next` durably. Throws as a change of the store, without effect.
  void write(const meta_record& next);
  /// Makes `next` valid until end_stage(), in ordinary memory.
  void stage(const meta_record& next) noexcept;
  [[nodiscard]] bool is_staged() const noexcept { return is_staged_; }
  /// Adds the staged record to a batch. Requires: is_staged().
  void add_staged(db::WriteBatch& batch) const;
  /// `is_written`: the batch was written; otherwise the record is as before stage().
  void end_stage(bool is_written) noexcept;

 private:
  void require_bytewise_order() const;
  void create(const base::hash_key& seed);
  void read(std::string_view bytes);
  void set(const meta_record& next) noexcept;
  /// Returns the bytes of a record with the numbers that are reserved.
  [[nodiscard]] std::string bytes_with_numbers(meta_record of, std::uint64_t numbers) const;
  void put(const meta_record& next, std::uint64_t numbers);
  void reserve(std::uint64_t number);

  db::DB& store_;
  std::string path_;
  base::hash_key seed_{};
  meta_record now_;
  meta_record written_;
  bool is_staged_ = false;
  mutable domain::volatile_word<D, bool> was_due_{false};
  space_lock<D> reserving_;  ///< of the reserved numbers and the versions
  domain::volatile_word<D, bool> allows_parts_{false};
  domain::volatile_word<D, std::uint64_t> next_{1};
  domain::volatile_word<D, std::uint64_t> reserved_{1};
};

template <domain::persistence_domain D>
space_record<D>::space_record(db::DB& store, std::string path, const base::hash_key& seed)
    : store_(store), path_(std::move(path)) {
  require_bytewise_order();
  std::string found;
  const db::Status status = store_.Get({}, meta_key, &found);
  if (status.IsNotFound()) {
    create(seed);
  } else {
    require(status, path_);
    read(found);
  }
  seed_ = {now_.first_seed, now_.second_seed};
  next_.store(now_.reserved_numbers, std::memory_order_relaxed);
  reserved_.store(now_.reserved_numbers, std::memory_order_relaxed);
}

/// A walk continues at a hash, thus the keys must be in the order of their bytes.
template <domain::persistence_domain D>
void space_record<D>::require_bytewise_order() const {
  constexpr std::string_view expected = "leveldb.BytewiseComparator";
  std::string order;
  if (store_.GetProperty("outlast.comparator", &order) && order == expected) return;
  throw error(errc::not_a_pool, path_,
              "the order of the store's keys is \"" + order + "\", and items need \"" +
                  std::string(expected) + "\"; use another directory");
}

template <domain::persistence_domain D>
void space_record<D>::create(const base::hash_key& seed) {
  {
    const std::unique_ptr<db::Iterator> at(store_.NewIterator({}));
    at->SeekToFirst();
    require(at->status(), path_);
    if (at->Valid()) {
      throw error(errc::not_a_pool, path_,
                  "the store has keys of another program, and no record of a server's items; use "
                  "an empty directory");
    }
  }
  now_.first_seed = seed.first;
  now_.second_seed = seed.second;
  put(now_, now_.reserved_numbers);
  written_ = now_;
}

template <domain::persistence_domain D>
void space_record<D>::read(std::string_view bytes) {
  if (bytes.size() < offsetof(meta_record, first_seed) ||
      head_of<std::uint64_t>(bytes) != meta_magic) {
    throw error(errc::not_a_pool, path_,
                "the store has keys of another program: the value of the key 0x00 is no record of "
                "a server's items; use an empty directory");
  }
  const auto version = head_of<std::uint32_t>(bytes.substr(offsetof(meta_record, version)));
  if (version > parts_version) {
    throw error(errc::newer_version, path_,
                "the items have format " + std::to_string(version) +
                    ", and this program reads formats up to " + std::to_string(parts_version) +
                    "; use a later version of Outlast");
  }
  if (version == 0 || bytes.size() != sizeof(meta_record)) {
    throw corruption(path_, "the record of the items has format " + std::to_string(version) +
                                " and " + std::to_string(bytes.size()) + " bytes instead of " +
                                std::to_string(sizeof(meta_record)) + "; restore a backup");
  }
  now_ = written_ = head_of<meta_record>(bytes);
  allows_parts_.store(version >= parts_version, std::memory_order_relaxed);
}

template <domain::persistence_domain D>
std::uint64_t space_record<D>::next_number() {
  const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
  if (number >= reserved_.load(std::memory_order_relaxed)) reserve(number);
  return number;
}

template <domain::persistence_domain D>
void space_record<D>::follow_number(std::uint64_t chosen) {
  if (chosen >= min_free_choice) return;
  if (chosen >= reserved_.load(std::memory_order_relaxed)) reserve(chosen);
  next_.raise_to(chosen + 1, std::memory_order_relaxed);
}

template <domain::persistence_domain D>
void space_record<D>::reserve(std::uint64_t number) {
  const std::lock_guard lock(reserving_);
  if (number < reserved_.load(std::memory_order_relaxed)) return;
  // What a crash leaves of the block is lost, because another process cannot detect its use.
  const std::uint64_t end = number + numbers_of_block;
  put(written_, end);
  reserved_.store(end, std::memory_order_relaxed);
}

template <domain::persistence_domain D>
void space_record<D>::allow_parts() {
  // Relaxed: a thread that reads true needs only that the record is durable by then.
  if (allows_parts_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(reserving_);
  if (allows_parts_.load(std::memory_order_relaxed)) return;
  meta_record next = written_;
  next.version = parts_version;
  put(next, reserved_.load(std::memory_order_relaxed));
  // Other threads do not read the version of `now_` meanwhile.
  written_.version = now_.version = parts_version;
  allows_parts_.store(true, std::memory_order_relaxed);
}

template <domain::persistence_domain D>
bool space_record<D>::is_due(std::int64_t now_ms) const noexcept {
  if (now_.erase_at_ms == 0) return false;
  if (was_due_.load(std::memory_order_relaxed)) return true;
  if (now_ms < now_.erase_at_ms) return false;
  was_due_.store(true, std::memory_order_relaxed);
  return true;
}

template <domain::persistence_domain D>
std::int64_t space_record<D>::time_of_storing(std::int64_t now_ms) const noexcept {
  const std::int64_t erased = std::max(now_ms, now_.erased_before_ms);
  return is_due(now_ms) ? std::max(erased, now_.erase_at_ms) : erased;
}

template <domain::persistence_domain D>
meta_record space_record<D>::after_erasure(std::int64_t now_ms,
                                           std::int64_t from_ms) const noexcept {
  meta_record next = is_due(now_ms) ? after_due() : now_;
  if (from_ms > now_ms) {
    next.erase_at_ms = from_ms;
  } else {
    ++next.generation;
    next.erased_before_ms = next.erase_at_ms = 0;
  }
  return next;
}

template <domain::persistence_domain D>
meta_record space_record<D>::after_due() const noexcept {
  meta_record next = now_;
  next.erased_before_ms = std::max(now_.erased_before_ms, now_.erase_at_ms);
  next.erase_at_ms = 0;
  return next;
}

template <domain::persistence_domain D>
void space_record<D>::write(const meta_record& next) {
  put(next, reserved_.load(std::memory_order_relaxed));
  written_ = next;
  set(next);
}

template <domain::persistence_domain D>
void space_record<D>::stage(const meta_record& next) noexcept {
  is_staged_ = true;
  set(next);
}

template <domain::persistence_domain D>
void space_record<D>::add_staged(db::WriteBatch& batch) const {
  batch.Put(meta_key, bytes_with_numbers(now_, reserved_.load(std::memory_order_relaxed)));
}

template <domain::persistence_domain D>
void space_record<D>::end_stage(bool is_written) noexcept {
  if (!is_staged_) return;
  is_staged_ = false;
  if (is_written) {
    written_ = now_;
  } else {
    set(written_);
  }
}

template <domain::persistence_domain D>
void space_record<D>::set(const meta_record& next) noexcept {
  now_ = next;
  was_due_.store(false, std::memory_order_relaxed);
}

template <domain::persistence_domain D>
std::string space_record<D>::bytes_with_numbers(meta_record of, std::uint64_t numbers) const {
  of.reserved_numbers = numbers;
  return std::string(bytes_of(of));
}

template <domain::persistence_domain D>
void space_record<D>::put(const meta_record& next, std::uint64_t numbers) {
  db::WriteOptions durably;
  durably.sync = true;
  require(store_.Put(durably, meta_key, bytes_with_numbers(next, numbers)), path_);
}

}  // namespace outlast::server::stored
