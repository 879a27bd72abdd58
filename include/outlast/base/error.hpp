// Errors of the control plane: create, open, map, grow, recover, check.
//
// The data plane (insert, get, ...) answers with bool and optional; the one exception it throws is
// `out_of_space`. Whatever goes wrong with a file is an `error`: a code to branch on, the path, and
// a sentence that says what happened and what to do.
#pragma once

#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace outlast {

/// What went wrong, for programs to branch on.
enum class errc {
  not_a_pool = 1,         ///< the magic number is another one, or the path is no regular file
  truncated,              ///< the file is shorter than its header says
  header_damaged,         ///< a checksum of the header does not match
  newer_version,          ///< written by a later format version, or with features unknown here
  foreign_machine,        ///< other byte order or word size
  already_open,           ///< another opener holds the lock
  read_only,              ///< the file or its file system cannot be written
  no_space,               ///< the file system is full
  pool_full,              ///< the pool has reached its size
  address_taken,          ///< the pool's base address is in use and a root cannot be relocated
  too_small,              ///< the size asked for cannot hold a pool
  already_exists,         ///< create() found a file
  not_found,              ///< open() found no file, or there is no such root
  root_type_mismatch,     ///< the root was created as another type
  roots_exhausted,        ///< the directory of roots is full
  torn_by_machine_crash,  ///< it survives kills alone and the machine crashed; salvage is explicit
  corrupted,              ///< data behind the header contradict themselves
  forked,                 ///< used in the child of a fork
  refused,                ///< the domain or policy asked for cannot keep its promise here
  io_failure,             ///< the device reported an error; the pool accepts no more writes
  bad_argument,           ///< a parameter is out of range
  closed,                 ///< the pool was closed
  torn_by_copying,        ///< a copy of a pool that was open; pool_options::open_torn is explicit
};

[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

/// A failure of the control plane. `what()` is a full sentence that names the file and the cause.
class error : public std::system_error {
 public:
  error(errc code, std::string path, const std::string& sentence)
      : std::system_error(make_error_code(code), path.empty() ? sentence : path + ": " + sentence),
        path_(std::move(path)) {}

  /// The failure as one of ours.
  [[nodiscard]] errc reason() const noexcept { return static_cast<errc>(code().value()); }
  /// The file concerned; empty if none is.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// The pool's content contradicts itself: never an assertion, always this.
class corruption : public error {
 public:
  corruption(std::string path, const std::string& sentence)
      : error(errc::corrupted, std::move(path), sentence) {}
};

/// No room: the pool is full, its file system is, or a test made this allocation fail.
/// Thrown by allocating operations of the data plane, which then have had no effect.
class out_of_space : public std::bad_alloc {
 public:
  explicit out_of_space(std::string sentence) : sentence_(std::move(sentence)) {}
  [[nodiscard]] const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

}  // namespace outlast

template <>
struct std::is_error_code_enum<outlast::errc> : std::true_type {};
