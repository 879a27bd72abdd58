// The files of stores that are made aside and put in their place.
#pragma once

#include <string>

namespace outlast::store_detail {

/// Is there a file of that name, of whatever kind? Also where the system cannot tell: what is taken
/// for missing is made anew.
[[nodiscard]] bool is_there(const std::string& path);
/// The permissions of a file; 0 if there is none, the owner's alone if the system cannot tell.
[[nodiscard]] unsigned mode_of_file(const std::string& path);
/// Removes the file of a store, and of its log, if they are there. Throws error{io_failure}.
void remove_store_files(const std::string& file);
/// The names in a directory are durable at return. Throws error{io_failure}.
void sync_directory(const std::string& directory);
/// The closed store `aside` becomes `file`, in the same directory, where none is. Durable at
/// return; after a crash it has one name or the other. Throws error{io_failure}.
void name_store(const std::string& file, const std::string& aside);
/// The closed store `aside` becomes `file`, in the same directory, where one is, whose files are
/// kept. Durable at return. Answers where the old one is. After a crash, and where it throws,
/// settle_store() makes of it the old store or the new one. Throws error{io_failure, no_space}.
[[nodiscard]] std::string replace_and_keep(const std::string& file, const std::string& aside);
/// Gives `aside`, which is going to be in the place of `file`, the owner and the permissions of
/// that. There may be no such file.
void give_permissions(const std::string& file, const std::string& aside);
/// Throws error{io_failure, no_space} for what the system just refused.
[[noreturn]] void refuse_file(const std::string& path, const std::string& action);
/// The directory in which a file of a store is.
[[nodiscard]] std::string folder_of(const std::string& file);

}  // namespace outlast::store_detail
