// The region of a manager's commit log: creation, and replay when the manager is opened.
#pragma once

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/region.hpp>
#include <outlast/tx/detail/commit_log.hpp>
#include <outlast/tx/detail/commit_records.hpp>
#include <outlast/tx/detail/replica_word.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace outlast::tx::detail {

/// The write-ahead log of commits that are not in the base image yet. Only a manager with a bound
/// on unsynced time creates one; every opening replays one that it finds.
///
/// Thread-safety: used by one thread at a time.
template <domain::persistence_domain D>
class commit_log_region {
 public:
  commit_log_region(basic_pool<D>& pool, const std::string& manager)
      : pool_(pool), manager_(manager), name_("tl:" + manager) {}

  /// Opens the log, and creates it if there is none. Returns nullptr if the pool has no room for
  /// it. Throws error{io_failure}.
  [[nodiscard]] std::unique_ptr<commit_log<D>> open(std::size_t replica_bytes) {
    std::optional<region_info> region = pool_.find_region(name_);
    try {
      if (!region) region = create();
    } catch (const out_of_space&) {
      return nullptr;
    } catch (const error& failure) {
      if (failure.reason() == errc::roots_exhausted) return nullptr;
      throw;
    }
    if constexpr (domain::logs_lines<D>) {
      // One batch of the pool's journal must hold all lines that are written back together.
      if (!D::provide(region->address, region->bytes / base::cache_line_size)) return nullptr;
    }
    const auto random = pool_detail::random_uuid();
    std::uint64_t generation = 0;
    std::memcpy(&generation, random.data(), sizeof generation);
    return std::make_unique<commit_log<D>>(pool_, *region, generation, replica_bytes);
  }

  /// Invalidates the log of an earlier manager of that name, if there is one. Durable at return.
  void forget_earlier() {
    if (const auto left = pool_.find_region(name_)) forget_commits(*left);
  }

  /// Writes the commits that an earlier process has left in the log to `home`, the replica that
  /// `state` names, and advances `state`, durably. If a crash interrupts the replay, the next
  /// opening repeats it: records have the contents of lines, so that replay is idempotent. Throws
  /// corruption if a commit is missing that was durable.
  void replay(std::atomic<std::uint64_t>& state, std::byte* home, std::size_t replica_bytes) {
    const std::optional<region_info> log = pool_.find_region(name_);
    if (!log || log->kind != region_kind::log || log->bytes <= commit_records_offset) return;
    const replica_word now(state.load(std::memory_order_relaxed));
    const base::anonymous_memory in_file = pool_.read_region(name_);
    const commit_log_reader found({in_file.data(), log->bytes}, now.number(), replica_bytes);
    if (!found.damage().empty() && !pool_.salvages()) {
      throw corruption(pool_.path(), "the log of the transactions '" + manager_ + "' " +
                                         found.damage() + "; restore a backup, or salvage it");
    }
    if (found.number() == now.number()) return;
    bring_in(found.lines(), state, replica_word(found.number(), now.replica()), home, *log);
  }

  /// Returns the log's space to the file system. The log must be empty: the pool is being closed.
  void give_back_space() {
    const std::optional<region_info> log = pool_.find_region(name_);
    if (!log) return;
    pool_.uncommit_region(name_, 0, commit_records_offset, log->bytes - commit_records_offset);
  }

 private:
  static constexpr std::size_t min_log_bytes = std::size_t{64} << 10;
  static constexpr std::size_t max_log_bytes = std::size_t{16} << 20;

  /// The space can hold bytes of an earlier owner: the header is written so that it names no
  /// records.
  [[nodiscard]] region_info create() {
    const std::size_t part = base::round_up(pool_.usual_bytes() / 64, pool_format::page_bytes);
    // The simulator uses a small log, so that it is full often.
    const std::size_t records = domain::has_real_threads<D>
                                    ? std::clamp(part, min_log_bytes, max_log_bytes)
                                    : std::size_t{8} << 10;
    region_info made =
        pool_.reserve_region(name_, region_kind::log, commit_records_offset + records);
    pool_.commit_region(name_, 0, 0, commit_records_offset);
    forget_commits(made);
    return made;
  }
  /// Durable at return.
  static void forget_commits(const region_info& log) {
    std::byte* const number = log.address + offsetof(commit_log_header, number);
    D::write(number, &commit_log_header::no_number, sizeof(std::uint64_t));
    domain::persist<D>(number, sizeof(std::uint64_t));
  }

  /// Writes `lines` to `home` and `word` to `state`. On a domain with a journal, one batch contains
  /// both; its word alone makes the log obsolete.
  void bring_in(const std::vector<line_found>& lines, std::atomic<std::uint64_t>& state,
                replica_word word, std::byte* home, [[maybe_unused]] const region_info& log) {
    if constexpr (domain::logs_lines<D>) {
      std::vector<domain::line_store> stores;
      stores.reserve(lines.size());
      for (const line_found& each : lines) {
        stores.push_back({home + each.line * base::cache_line_size, each.content});
      }
      D::publish(state, word.bits(), stores);
    } else {
      for (const line_found& each : lines) {
        std::byte* const at = home + each.line * base::cache_line_size;
        D::write(at, each.content, base::cache_line_size);
        domain::flush<D>(at, base::cache_line_size);
      }
      // (P1) persisted-before (P2): the word names what the replica holds.
      domain::fence<D>();
      // (P2) the commits have happened. (P3) persisted-before (P4): their records are obsolete.
      D::store(state, word.bits(), std::memory_order_release);
      domain::persist_before_return<D>(&state, sizeof(std::uint64_t));
      forget_commits(log);  // (P4) the log names no records.
    }
  }

  basic_pool<D>& pool_;
  const std::string manager_;
  const std::string name_;
};

}  // namespace outlast::tx::detail
