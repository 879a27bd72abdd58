// Errors of the control plane: create, open, map, grow, recover, check.
//
// Functions of the data plane (insert, get, ...) return bool or optional, and throw only
// `out_of_space`. A failure that concerns a file is an `error`. It contains a code for programs,
// the path, and a message with the cause and the remedy.
#pragma once

#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace outlast {

/// Kinds of failures, for programs that handle them differently.
enum class errc {
  not_a_pool = 1,         ///< the magic number differs, or the path is not a regular file
  truncated,              ///< the file is shorter than its header states
  header_damaged,         ///< a checksum of the header does not match
  newer_version,          ///< written by a later format version, or with features unknown here
  foreign_machine,        ///< other byte order or word size
  already_open,           ///< another opener holds the lock
  read_only,              ///< the file or its file system cannot be written
  no_space,               ///< the file system is full
  pool_full,              ///< the pool has reached its size
  address_taken,          ///< the pool's base address is in use and a root cannot be relocated
  too_small,              ///< the requested size is too small for a pool
  already_exists,         ///< create() found a file
  not_found,              ///< open() found no file, or there is no such root
  root_type_mismatch,     ///< the root was created with another type
  roots_exhausted,        ///< the directory of roots is full
  torn_by_machine_crash,  ///< the machine crashed, and the pool survives only kills; see salvage
  corrupted,              ///< the data after the header are inconsistent
  forked,                 ///< used in the child of a fork
  refused,                ///< the requested domain or policy cannot keep its guarantee here
  io_failure,             ///< the device reported an error; the pool accepts no more writes
  bad_argument,           ///< a parameter is out of range
  closed,                 ///< the pool was closed
  torn_by_copying,        ///< a copy of a pool that was open; see pool_options::open_torn
};

[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

/// A failure of the control plane. `what()` is a message with the file and the cause.
class error : public std::system_error {
 public:
  error(errc code, std::string path, const std::string& sentence)
      : std::system_error(make_error_code(code), path.empty() ? sentence : path + ": " + sentence),
        path_(std::move(path)) {}

  /// Returns the kind of the failure.
  [[nodiscard]] errc reason() const noexcept { return static_cast<errc>(code().value()); }
  /// Returns the path of the affected file, or an empty string if there is none.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// The contents of a pool are inconsistent. The library throws this error; it never aborts for it.
class corruption : public error {
 public:
  corruption(std::string path, const std::string& sentence)
      : error(errc::corrupted, std::move(path), sentence) {}
};

/// The pool or its file system is full, or a test made the allocation fail. Operations of the data
/// plane that allocate throw it. They then have had no effect.
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
