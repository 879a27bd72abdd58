// The record of a served space: its seed, its erasures and the unique numbers that are reserved.
#include <outlast/base/error.hpp>
#include <outlast/db/iterator.hpp>
#include <outlast/db/options.hpp>
#include <outlast/db/status.hpp>
#include <src/server/stored/space_record.hpp>
#include <src/server/stored/status_errors.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <utility>

namespace outlast::server::stored {

namespace {

/// Numbers of one reservation, which waits until it is durable.
constexpr std::uint64_t numbers_of_block = std::uint64_t{1} << 16;
/// New numbers do not follow a chosen one from here on, so that they cannot run out.
constexpr std::uint64_t min_free_choice = std::uint64_t{1} << 63;

std::uint64_t random_word() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

}  // namespace

space_record::space_record(db::DB& store, std::string path)
    : store_(store), path_(std::move(path)) {
  require_bytewise_order();
  std::string found;
  const db::Status status = store_.Get({}, meta_key, &found);
  if (status.IsNotFound()) {
    create();
  } else {
    require(status, path_);
    read(found);
  }
  seed_ = {now_.first_seed, now_.second_seed};
  next_.store(now_.reserved_numbers, std::memory_order_relaxed);
  reserved_.store(now_.reserved_numbers, std::memory_order_relaxed);
}

/// A walk continues at a hash, thus the keys must be in the order of their bytes.
void space_record::require_bytewise_order() const {
  constexpr std::string_view expected = "leveldb.BytewiseComparator";
  std::string order;
  if (store_.GetProperty("outlast.comparator", &order) && order == expected) return;
  throw error(errc::not_a_pool, path_,
              "the order of the store's keys is \"" + order + "\", and items need \"" +
                  std::string(expected) + "\"; use another directory");
}

void space_record::create() {
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
  now_.first_seed = random_word();
  now_.second_seed = random_word();
  put(now_, now_.reserved_numbers);
  written_ = now_;
}

void space_record::read(std::string_view bytes) {
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

std::uint64_t space_record::next_number() {
  const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
  if (number >= reserved_.load(std::memory_order_relaxed)) reserve(number);
  return number;
}

void space_record::follow_number(std::uint64_t chosen) {
  if (chosen >= min_free_choice) return;
  if (chosen >= reserved_.load(std::memory_order_relaxed)) reserve(chosen);
  std::uint64_t next = next_.load(std::memory_order_relaxed);
  while (next <= chosen &&
         !next_.compare_exchange_weak(next, chosen + 1, std::memory_order_relaxed)) {
  }
}

void space_record::reserve(std::uint64_t number) {
  const std::lock_guard lock(reserving_);
  if (number < reserved_.load(std::memory_order_relaxed)) return;
  // What a crash leaves of the block is lost, because another process cannot detect its use.
  const std::uint64_t end = number + numbers_of_block;
  put(written_, end);
  reserved_.store(end, std::memory_order_relaxed);
}

void space_record::allow_parts() {
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

bool space_record::is_due(std::int64_t now_ms) const noexcept {
  if (now_.erase_at_ms == 0) return false;
  if (was_due_.load(std::memory_order_relaxed)) return true;
  if (now_ms < now_.erase_at_ms) return false;
  was_due_.store(true, std::memory_order_relaxed);
  return true;
}

std::int64_t space_record::time_of_storing(std::int64_t now_ms) const noexcept {
  const std::int64_t erased = std::max(now_ms, now_.erased_before_ms);
  return is_due(now_ms) ? std::max(erased, now_.erase_at_ms) : erased;
}

meta_record space_record::after_erasure(std::int64_t now_ms, std::int64_t from_ms) const noexcept {
  meta_record next = is_due(now_ms) ? after_due() : now_;
  if (from_ms > now_ms) {
    next.erase_at_ms = from_ms;
  } else {
    ++next.generation;
    next.erased_before_ms = next.erase_at_ms = 0;
  }
  return next;
}

meta_record space_record::after_due() const noexcept {
  meta_record next = now_;
  next.erased_before_ms = std::max(now_.erased_before_ms, now_.erase_at_ms);
  next.erase_at_ms = 0;
  return next;
}

void space_record::write(const meta_record& next) {
  put(next, reserved_.load(std::memory_order_relaxed));
  written_ = next;
  set(next);
}

void space_record::stage(const meta_record& next) noexcept {
  is_staged_ = true;
  set(next);
}

void space_record::add_staged(db::WriteBatch& batch) const {
  batch.Put(meta_key, bytes_with_numbers(now_, reserved_.load(std::memory_order_relaxed)));
}

void space_record::end_stage(bool is_written) noexcept {
  if (!is_staged_) return;
  is_staged_ = false;
  if (is_written) {
    written_ = now_;
  } else {
    set(written_);
  }
}

void space_record::set(const meta_record& next) noexcept {
  now_ = next;
  was_due_.store(false, std::memory_order_relaxed);
}

std::string space_record::bytes_with_numbers(meta_record of, std::uint64_t numbers) const {
  of.reserved_numbers = numbers;
  return std::string(bytes_of(of));
}

void space_record::put(const meta_record& next, std::uint64_t numbers) {
  db::WriteOptions durably;
  durably.sync = true;
  require(store_.Put(durably, meta_key, bytes_with_numbers(next, numbers)), path_);
}

}  // namespace outlast::server::stored
