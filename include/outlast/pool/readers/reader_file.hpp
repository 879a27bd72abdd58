// The file PATH.readers next to a pool, and the mapping of a pool in a reader.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/readers/reader_page.hpp>
#include <outlast/pool/region.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::pool_detail {

[[nodiscard]] std::string path_of_readers(const std::string& pool_path);

/// The shared file, mapped. The locks of its slots belong to this object: the kernel releases them
/// when the process dies.
class reader_file final : public reader_place {
 public:
  using uuid_type = std::array<std::uint8_t, 16>;

  /// Opens or creates the file of a writer. An existing file must be one of this pool, or of
  /// another pool without readers. Throws error{bad_argument, refused, newer_version, no_space,
  /// read_only}.
  [[nodiscard]] static std::unique_ptr<reader_file> of_writer(const mapped_file& pool,
                                                              const uuid_type& uuid,
                                                              unsigned slots);
  /// Opens the file that an earlier writer of this pool has left. Returns nullptr if there is none.
  [[nodiscard]] static std::unique_ptr<reader_file> of_earlier_writer(const mapped_file& pool,
                                                                      const uuid_type& uuid);
  /// Opens the file for a reader. Throws error{refused, read_only, newer_version}.
  [[nodiscard]] static std::unique_ptr<reader_file> of_reader(const std::string& pool_path);

  ~reader_file() override;

  [[nodiscard]] bool is_held(std::uint32_t slot) const noexcept override;
  [[nodiscard]] bool take(std::uint32_t slot) noexcept override;
  void give_back(std::uint32_t slot) noexcept override;

  /// Records the pool's file and the boot. Requires: readers wait for an opening.
  void describe(int pool_fd);
  [[nodiscard]] fork_guard& fork_state() const noexcept { return *guard_; }

 private:
  reader_file(std::string path, unique_fd fd);
  void map();
  void initialize(const uuid_type& uuid);
  [[nodiscard]] bool is_foreign() const;
  void require_locks() const;

  std::string path_;
  unique_fd fd_;
  std::unique_ptr<fork_guard> guard_;
  std::size_t bytes_ = 0;
  std::mutex taking_;
  std::vector<bool> taken_;  // by this object; guarded by taking_
};

/// Slots in memory, for a pool in memory: its readers are threads. For tests and the verifier.
class readers_in_memory final : public reader_place {
 public:
  explicit readers_in_memory(std::uint32_t slots);
  ~readers_in_memory() override;

  [[nodiscard]] bool is_held(std::uint32_t slot) const noexcept override { return held_[slot]; }
  [[nodiscard]] bool take(std::uint32_t slot) noexcept override;
  void give_back(std::uint32_t slot) noexcept override { held_[slot] = false; }

 private:
  std::vector<std::uint64_t> bytes_;
  std::vector<std::atomic<bool>> held_;
};

/// A pool's file, mapped by a reader: no byte of it can be changed there.
class read_only_pool {
 public:
  /// Opens and maps the pool at `path` at its own address. Waits up to `wait_ms` while a writer is
  /// opening it. Throws error{not_found, not_a_pool, read_only, refused, closed, address_taken,
  /// forked} and the errors of a damaged header.
  read_only_pool(const std::string& path, unsigned wait_ms);
  ~read_only_pool();
  read_only_pool(const read_only_pool&) = delete;
  read_only_pool& operator=(const read_only_pool&) = delete;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] const std::shared_ptr<reader_file>& place() const noexcept { return place_; }
  [[nodiscard]] domain::kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept {
    return mapped_.load(std::memory_order_acquire);
  }
  /// Maps the pool up to `bytes`. Reserves more address space if necessary. Thread-safe. Throws
  /// error{refused} if that is not possible.
  void map_to(std::uint64_t bytes);

 private:
  [[nodiscard]] std::optional<std::uint64_t> try_open();
  void require_present(const pool_format::state_slot& state) const;
  void reserve(std::uintptr_t address, std::uint64_t bytes, std::uint64_t space);
  void extend_space(std::uint64_t bytes);

  std::string path_;
  unique_fd fd_;
  std::unique_ptr<fork_guard> guard_;
  std::shared_ptr<reader_file> place_;
  std::byte* base_ = nullptr;
  std::uint64_t space_ = 0;
  std::atomic<std::uint64_t> mapped_{0};
  std::mutex mapping_;
  domain::kind kind_ = domain::kind::process;
  std::string why_not_;
};

/// A root to which a reader looks.
struct wanted_root {
  std::string name;
  std::string type_name;
  std::uint64_t fingerprint;
};

struct readable_root {
  std::uint64_t offset;  ///< of its object
  std::uint32_t index;
};

/// Returns the root, or nothing if the root cannot be read now; then
/// `why_not` has the reason. `bytes`: of the pool at `base`, mapped. Throws error{not_found,
/// root_type_mismatch, refused} and corruption.
[[nodiscard]] std::optional<readable_root> find_readable_root(
    const std::byte* base, std::uint64_t bytes, const reader_page& page, const wanted_root& wanted,
    const std::string& path, std::string& why_not);

/// The place of a region in a pool.
struct readable_region {
  std::uint64_t offset;
  std::uint64_t bytes;         ///< of one replica
  std::uint64_t stride_bytes;  ///< between replicas
  std::uint32_t replicas;
};

/// Returns the region of this name and kind, or nothing. `bytes`: of the pool at `base`, mapped.
/// Throws corruption if it is not in these.
[[nodiscard]] std::optional<readable_region> find_readable_region(const std::byte* base,
                                                                  std::uint64_t bytes,
                                                                  std::string_view name,
                                                                  region_kind kind,
                                                                  const std::string& path);

/// Throws error{refused} if the writer's instructions are others than those of the reader's type.
void require_domain_of_writer(domain::kind writer, domain::kind own, const std::string& path);

/// Throws error{address_taken} if a writer has mapped the pool elsewhere since it was opened here.
void require_same_base(const reader_page& page, std::uintptr_t base, const std::string& path);

/// Throws error{refused}: the last opener has not permitted readers.
[[noreturn]] void throw_refused_readers(const std::string& path);

}  // namespace outlast::pool_detail
