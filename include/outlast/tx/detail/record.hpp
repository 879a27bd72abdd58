// The record of a transaction manager in the pool.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/error.hpp>
#include <outlast/pool/format.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outlast::tx::detail {

/// The engine that owns a manager. The values are part of the format.
enum class engine_kind : std::uint32_t {
  left_right = 1,
  cx_puc = 2,
  cx_ptm = 3,
  redo = 4,
  redo_timed = 5,
  redo_opt = 6,
};

[[nodiscard]] constexpr std::string_view name_of(engine_kind kind) noexcept {
  switch (kind) {
    case engine_kind::left_right: return "left_right";
    case engine_kind::cx_puc: return "cx_puc";
    case engine_kind::cx_ptm: return "cx_ptm";
    case engine_kind::redo: return "redo";
    case engine_kind::redo_timed: return "redo_timed";
    case engine_kind::redo_opt: return "redo_opt";
  }
  return "unknown";
}

// The identity of a manager's root.
inline constexpr std::string_view manager_root_name = "transactions";
inline constexpr std::uint64_t manager_fingerprint = 0x74786d67'0001;

/// The object of a manager's root. On media: docs/formats/tx.md. The first line never changes once
/// the root is published. The second one belongs to the engine.
struct alignas(base::cache_line_size) manager_record {
  static constexpr std::uint64_t right_magic = 0x31585454'534c4f6fULL;
  static constexpr std::uint32_t known_version = 5;

  std::uint64_t magic;
  std::uint32_t version;
  engine_kind engine;
  std::uint32_t replicas;
  std::uint32_t page_bytes;
  std::uint64_t replica_bytes;
  std::uint64_t one_on_media;  ///< 1: only the current replica needs space in the file
  std::uint64_t reserved[2];
  std::uint64_t checksum;  ///< XXH3-64 of the 56 bytes before it

  std::atomic<std::uint64_t> state;
  std::uint64_t unused[7];
};
static_assert(sizeof(manager_record) == 128 && offsetof(manager_record, checksum) == 56 &&
              offsetof(manager_record, state) == 64);

[[nodiscard]] inline std::uint64_t checksum_of(const manager_record& record) noexcept {
  return pool_format::checksum_of(&record, offsetof(manager_record, checksum));
}

/// Throws error{header_damaged, newer_version, root_type_mismatch} unless `record` is one of
/// `engine`.
inline void require_record(const manager_record& record, engine_kind engine,
                           const std::string& path, const std::string& name) {
  const std::string subject = "the transactions '" + name + "'";
  if (record.magic != manager_record::right_magic) {
    throw error(errc::header_damaged, path,
                subject + " have a header without its magic number; restore a backup");
  }
  if (record.version != manager_record::known_version) {
    throw error(errc::newer_version, path,
                subject + " were written in format " + std::to_string(record.version) +
                    ", and this library supports format " +
                    std::to_string(manager_record::known_version) +
                    "; open them with the library that wrote them");
  }
  if (record.checksum != checksum_of(record)) {
    throw error(errc::header_damaged, path,
                subject + " have a header whose checksum does not match; restore a backup");
  }
  if (record.engine != engine) {
    throw error(errc::root_type_mismatch, path,
                subject + " belong to the engine " + std::string(name_of(record.engine)) +
                    ", not to " + std::string(name_of(engine)) +
                    "; open them with that, or choose another name");
  }
}

}  // namespace outlast::tx::detail
