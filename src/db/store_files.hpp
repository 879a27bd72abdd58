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
/// The closed store `aside` becomes `file`, in the same directory, whether that was there or not.
/// Durable at return; after a crash it is the old one or the new one. Throws error{io_failure}.
void replace_store(const std::string& file, const std::string& aside);

}  // namespace outlast::store_detail
