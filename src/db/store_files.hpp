// Operations on the files of stores, among them the replacement of a store by a new one.
#pragma once

#include <cstddef>
#include <string>

namespace outlast::store_detail {

/// Returns true if a file of any kind has that name, and also if the system cannot determine it,
/// because the caller would overwrite a file that it assumes missing.
[[nodiscard]] bool is_there(const std::string& path);
/// Returns the permissions of a file, 0 if it does not exist, or 0600 if the system cannot
/// determine them.
[[nodiscard]] unsigned mode_of_file(const std::string& path);
/// Returns the bytes that a file occupies in its file system, or 0 if the file does not exist.
[[nodiscard]] std::size_t bytes_of_file(const std::string& path);
/// Returns the free bytes of the file system of a file, or 0 if the system cannot determine them.
[[nodiscard]] std::size_t free_bytes_of(const std::string& path);
/// Removes the file of a store and its log, if they exist. Throws error{io_failure}.
void remove_store_files(const std::string& file);
/// Makes the names in a directory durable. Throws error{io_failure}.
void sync_directory(const std::string& directory);
/// Renames the closed store `aside` to `file` in the same directory. Durable at return; after a
/// crash the store has one of the names. Throws error{io_failure}. Requires: `file` does not exist.
void name_store(const std::string& file, const std::string& aside);
/// Renames the closed store `aside` to `file` in the same directory and keeps the files of the old
/// store. Durable at return. Returns the directory of the old files. After a crash or an exception,
/// settle_store() restores the old store or completes the new one. Throws error{io_failure,
/// no_space}.
[[nodiscard]] std::string replace_and_keep(const std::string& file, const std::string& aside);
/// Gives `aside`, which replaces `file`, the owner and the permissions of `file`. `file` may be
/// missing.
void give_permissions(const std::string& file, const std::string& aside);
/// Throws error{io_failure, no_space} for the system call that just failed.
[[noreturn]] void refuse_file(const std::string& path, const std::string& action);
/// Returns the directory of a file.
[[nodiscard]] std::string folder_of(const std::string& file);

}  // namespace outlast::store_detail
