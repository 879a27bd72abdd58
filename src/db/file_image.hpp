// The contents of a store's files in ordinary memory, from which they are read, recovered and
// repaired. The files do not change.
#pragma once

#include <outlast/db/detail/engine.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/journal/log_format.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace outlast::pool_detail {
class log_reader;
}

namespace outlast::store_detail {

/// An image of the file of a pool, with the batches of its log applied. Stores to it change no
/// file.
/// Holes of the file occupy neither memory nor space in the file system, even when they are read.
/// Not thread-safe.
class file_image {
 public:
  /// Throws the errors that basic_pool::open() throws before it changes the file. `salvage`: as in
  /// pool_options; parts that the device cannot read are then zeros.
  file_image(const std::string& file, medium on, bool salvage);
  ~file_image();
  file_image(const file_image&) = delete;
  file_image& operator=(const file_image&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return base_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Returns the findings of pool_format::check_image(). Requires: no pool was opened in the image.
  [[nodiscard]] std::vector<std::string> findings() const;
  /// Returns descriptions of the parts of the files that were left out. Empty without `salvage`.
  [[nodiscard]] const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  /// Returns a description of the crashes that a store in the file survives.
  [[nodiscard]] std::string guarantee() const;

 private:
  /// The addresses to which a root's pointers can be relative. The first is the current address.
  using root_bases = std::array<std::uint64_t, pool_format::root_bases + 1>;

  void bring_in(const pool_format::parsed_header& header, bool salvage);
  void validate_copy(const pool_format::parsed_header& header, bool salvage);
  [[nodiscard]] std::vector<root_bases> recorded_bases(
      const pool_format::parsed_header& header) const;
  void reserve(const pool_format::parsed_header& header, const std::vector<root_bases>& recorded);
  [[nodiscard]] bool reserve_anywhere(const std::function<bool(std::uintptr_t)>& is_usable);
  [[nodiscard]] bool reserve_at(std::uintptr_t address);
  void release() noexcept;
  void bring_in_file(bool salvage);
  void map_part(std::uint64_t begin, std::uint64_t end);
  void read_part(std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] bool bring_in_log(const pool_format::parsed_header& header, bool salvage);
  [[nodiscard]] bool accepts(const pool_format::log_reading& reading,
                             const pool_format::parsed_header& header, bool needed,
                             const std::string& path, bool salvage);
  void bring_in_batches(pool_detail::log_reader& log, const pool_format::parsed_header& header,
                        const std::string& path, bool salvage);
  void validate_log_match(const pool_format::log_reading& log, std::uint64_t end,
                          const pool_format::parsed_header& header, const std::string& path,
                          bool salvage);

  std::string file_;
  medium on_;
  pool_detail::unique_fd fd_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  bool has_log_ = false;  // the batches of the log are applied
  std::vector<std::string> left_out_;
};

/// The image from which a store is read, and the findings made before the pool in it was opened.
struct read_image {
  read_image(const std::string& file, medium where, bool salvage)
      : on(where), memory(file, where, salvage) {}

  medium on;
  file_image memory;
  std::vector<std::string> findings;
  std::string guarantee;
};

}  // namespace outlast::store_detail
