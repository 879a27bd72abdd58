// System calls on files. A failure throws an error that states a remedy.
#pragma once

#include <outlast/pool/file/mapped_file.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace outlast::pool_detail {

[[nodiscard]] std::string text_of(int error_number);

/// Throws the matching error{no_space, not_found, already_exists, read_only, not_a_pool,
/// io_failure} with the text "cannot `action`: ...".
[[noreturn]] void fail(const std::string& path, const std::string& action, int error_number);

/// Returns the maximum length of files of the process (RLIMIT_FSIZE); nullopt if there is no limit.
/// The kernel kills a process that exceeds it without a check.
[[nodiscard]] std::optional<std::uint64_t> longest_file() noexcept;
/// Throws error{no_space}, "cannot `action`: ...", if a file of `bytes` is longer than that.
void require_allowed_length(const std::string& path, const std::string& action,
                            std::uint64_t bytes);

/// Returns 0 or an errno; EFBIG if the process may not make the file so long. Uses the system call
/// itself: the library's emulation is not safe under a mapping.
[[nodiscard]] int allocate_space(int fd, std::uint64_t offset, std::uint64_t size) noexcept;

/// Writes all bytes. Throws like `fail`.
void write_all(const std::string& path, int fd, const void* bytes, std::size_t size,
               std::uint64_t offset);

/// Syncs a file's data with its device. Returns 0 or an errno.
[[nodiscard]] int sync_data(int fd);
/// Syncs the pages of a shared mapping of a file, and the file's length. Returns 0 or the errno.
[[nodiscard]] int sync_pages(void* first, std::size_t bytes);

/// Makes the names in the directory of `path` durable.
void sync_directory(const std::string& path);

/// Removes the name `path` if it is one of the file `fd`. The name's directory stays open after the
/// comparison: files in another directory that replaces it meanwhile stay. `durably`: the removal
/// is durable at return. Returns 0, also if the name is not there or is that of another file, or an
/// errno.
[[nodiscard]] int remove_own_name(const std::string& path, int fd, bool durably) noexcept;

/// Gives the file `fd` the mode of the file `like`, and its owner and group if the process has the
/// permission.
void give_permissions_of(int like, int fd) noexcept;
/// The mode of a new file: 0666 less the process's umask, which the kernel applies.
constexpr unsigned usual_mode = 0666;

/// A file that has no name until it is complete.
class nascent_file {
 public:
  /// `action`: the action in the text of errors. `mode`: less the process's umask.
  nascent_file(const std::string& path, std::string action, unsigned mode);
  ~nascent_file();
  nascent_file(const nascent_file&) = delete;
  nascent_file& operator=(const nascent_file&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// Gives the file its name, unless something has that name already.
  [[nodiscard]] unique_fd publish();

 private:
  void open_named(unsigned mode);
  [[nodiscard]] bool link_unnamed() const;
  [[nodiscard]] bool rename_named();

  std::string path_;
  std::string action_;
  std::string temporary_;  // empty: the file has no name
  unique_fd fd_;
};

}  // namespace outlast::pool_detail
