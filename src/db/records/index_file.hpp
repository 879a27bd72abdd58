// The file of an index that outlives its process, in a file system in memory or beside the pool.
#pragma once

#include <src/db/records/kept_heap.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace outlast::store_detail::records {

/// The file of the index of one pool file. The name of the file has the device and the inode of the
/// pool file, so that two copies of a pool never share an index. It has the owner of the pool file,
/// and no more permissions than that.
///
/// The file is used again if another process of the same build has left it, since the machine was
/// started, and if its addresses are free. Otherwise it is made anew.
///
/// If the file system becomes full, the rest of the index is in ordinary memory, and the next
/// opening makes a new index.
class index_file final : public kept_region {
 public:
  /// Returns the index file of the pool file at `pool`. Returns nullptr if there can be none: then
  /// the index is in ordinary memory. `likely_bytes`: the expected size; a file system in memory
  /// with less free space is not used.
  [[nodiscard]] static std::unique_ptr<index_file> open(const std::string& pool,
                                                        const std::array<std::uint8_t, 16>& uuid,
                                                        std::size_t likely_bytes);
  /// Returns the name of the index file of the pool file at `pool` that is in the same directory.
  [[nodiscard]] static std::string name_beside(const std::string& pool) { return pool + ".index"; }
  /// Removes the index files of the pool file at `pool`, if they exist and have its owner.
  static void remove_of(const std::string& pool) noexcept;
  ~index_file() override;

  [[nodiscard]] std::byte* first() const noexcept override;
  [[nodiscard]] std::size_t bytes() const noexcept override;
  [[nodiscard]] std::size_t provided() const noexcept override;
  void provide(std::size_t end) override;
  [[nodiscard]] bool is_kept() const noexcept override { return is_kept_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  index_file(std::string path, int fd, std::byte* mapped, std::size_t bytes) noexcept
      : path_(std::move(path)), fd_(fd), mapped_(mapped), mapped_bytes_(bytes) {}

  std::string path_;
  int fd_;
  std::byte* mapped_;
  std::size_t mapped_bytes_;
  std::size_t provided_ = 0;  ///< of the file, with its header
  bool is_kept_ = true;
};

}  // namespace outlast::store_detail::records
