// The files of good stores, and the words in them that edits change.
#pragma once

#include <outlast/pool/file/file_identity.hpp>
#include <tests/fuzz/corrupted_store.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::fuzz {

namespace fs = std::filesystem;

inline void require_file(bool done) {
  if (!done) throw std::system_error(errno, std::generic_category(), "a file of a store");
}

class file_of_store {
 public:
  file_of_store(const fs::path& path, int flags) : file_(::open(path.c_str(), flags, 0600)) {
    require_file(file_ >= 0);
  }
  ~file_of_store() { ::close(file_); }
  file_of_store(const file_of_store&) = delete;
  file_of_store& operator=(const file_of_store&) = delete;

  [[nodiscard]] off_t size() const {
    struct stat status{};
    require_file(::fstat(file_, &status) == 0);
    return status.st_size;
  }
  void resize(off_t bytes) const { require_file(::ftruncate(file_, bytes) == 0); }
  /// The next bytes that are no hole, from `at` on: where they begin and end. None: both are 0.
  [[nodiscard]] std::pair<off_t, off_t> data_from(off_t at) const {
    const off_t begin = ::lseek(file_, at, SEEK_DATA);
    if (begin < 0) return {};
    return {begin, ::lseek(file_, begin, SEEK_HOLE)};
  }
  void read(void* to, std::size_t bytes, off_t at) const {
    require_file(::pread(file_, to, bytes, at) == static_cast<ssize_t>(bytes));
  }
  void write(const void* from, std::size_t bytes, off_t at) const {
    require_file(::pwrite(file_, from, bytes, at) == static_cast<ssize_t>(bytes));
  }
  /// What a kill has left is put back as a whole, in another file.
  void adopt() const { pool_detail::adopt_copy("", file_); }

 private:
  int file_;
};

/// The bytes of a file that are no hole.
struct kept_file {
  std::string name;
  off_t size = 0;
  std::vector<std::pair<off_t, std::string>> parts;

  explicit kept_file(const fs::path& from) : name(from.filename().string()) {
    const file_of_store file(from, O_RDONLY | O_CLOEXEC);
    size = file.size();
    for (auto [begin, end] = file.data_from(0); end != 0;
         std::tie(begin, end) = file.data_from(end)) {
      std::string bytes(static_cast<std::size_t>(end - begin), '\0');
      file.read(bytes.data(), bytes.size(), begin);
      parts.emplace_back(begin, std::move(bytes));
    }
  }
  void write(const fs::path& folder) const {
    const file_of_store file(folder / name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC);
    file.resize(size);
    for (const auto& [begin, bytes] : parts) file.write(bytes.data(), bytes.size(), begin);
    file.adopt();
  }
};

/// A part of a store of records that has a check.
struct checked_part {
  enum class kind : std::uint8_t { segment, record, mark };

  kind what;
  off_t begin;
  std::string bytes;   ///< in the good store
  std::uint64_t salt;  ///< of its segment
};

/// The newest record of a key, with its batch.
struct newest_record {
  off_t begin = 0;
  off_t end = 0;
  std::uint64_t version = 0;
  std::optional<std::string> value;  ///< nothing: the key was erased
};

struct word_at {
  static constexpr std::size_t no_part = ~std::size_t{0};

  std::size_t file;
  off_t offset;
  std::size_t part = no_part;  ///< number of the checked_part that contains it
};

struct good_store {
  bool has_records = false;
  bool on_disk = false;
  bool has_crashed = false;  ///< another kernel runs when it is opened
  std::vector<kept_file> files;
  std::array<std::vector<word_at>, static_cast<std::size_t>(spot::count)> spots;
  // Of a store of records:
  std::uint64_t secret = 0;
  std::vector<checked_part> parts;
  std::map<std::string, newest_record> newest;

  [[nodiscard]] std::vector<word_at>& at(spot where) {
    return spots.at(static_cast<std::size_t>(where));
  }
};

inline void note_words(std::vector<word_at>& to, std::size_t file, off_t begin, std::size_t bytes,
                       std::size_t part = word_at::no_part) {
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    to.push_back({file, begin + static_cast<off_t>(i), part});
  }
}

}  // namespace outlast::fuzz
