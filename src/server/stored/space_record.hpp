// The record of a served space: its seed, its erasures and the unique numbers that are reserved.
#pragma once

#include <outlast/base/keyed_hash.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/write_batch.hpp>
#include <src/server/stored/format.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace outlast::server::stored {

/// Thread-safety: next_number(), follow_number(), allow_parts() and the members without a write may
/// be called concurrently. write(), stage(), add_staged() and end_stage() require that no other
/// thread uses the record.
class space_record {
 public:
  /// Reads the record, or writes it to an empty store. Throws as stored_items().
  space_record(db::DB& store, std::string path);

  [[nodiscard]] std::uint64_t hash_of(std::string_view key) const noexcept {
    return base::sip_hash<1, 3>(seed_, key);
  }

  /// Returns a number that no item ever had, also after a crash. Throws as a change of the store.
  [[nodiscard]] std::uint64_t next_number();
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
  void create();
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
  mutable std::atomic<bool> was_due_{false};
  std::mutex reserving_;  ///< of the reserved numbers and the versions
  std::atomic<bool> allows_parts_{false};
  std::atomic<std::uint64_t> next_{1};
  std::atomic<std::uint64_t> reserved_{1};
};

}  // namespace outlast::server::stored
