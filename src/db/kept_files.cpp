// Replaces a store by its repaired version and keeps the replaced files: the order of the renames,
// and the recovery of a replacement that a crash has interrupted.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/pool/format.hpp>
#include <outlast/pool/journal/log_format.hpp>
#include <src/db/records/index_file.hpp>
#include <src/db/store_files.hpp>
#include <src/pool/file/file_calls.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::store_detail {

namespace {

constexpr std::string_view kept_suffix = ".pool";
constexpr std::size_t min_digits = 6;

/// A file that a repair has replaced. Its log, if it has one, is in the same directory.
struct kept_store {
  std::uint64_t number;
  std::string file;
};

/// Returns the number in "000017.pool" or "000017.pool.redo".
std::optional<std::uint64_t> number_in(std::string_view name) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view rest = name.substr(digits);
  if (digits < min_digits || digits > 18) return std::nullopt;
  if (rest != kept_suffix && rest != log_of(std::string(kept_suffix))) return std::nullopt;
  return std::strtoull(std::string(name.substr(0, digits)).c_str(), nullptr, 10);
}

/// Returns the names in a directory; empty if the directory does not exist.
std::vector<std::string> names_in(const std::string& folder) {
  const auto close = [](DIR* opened) { ::closedir(opened); };
  const std::unique_ptr<DIR, decltype(close)> opened(::opendir(folder.c_str()), close);
  std::vector<std::string> names;
  if (opened == nullptr && errno == ENOENT) return names;
  if (opened == nullptr) refuse_file(folder, "list its files");
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(opened.get());
    if (entry == nullptr && errno != 0) refuse_file(folder, "list its files");
    if (entry == nullptr) return names;
    names.emplace_back(entry->d_name);
  }
}

std::string path_of(const std::string& folder, std::uint64_t number) {
  std::array<char, 32> name{};
  static_cast<void>(
      std::snprintf(name.data(), name.size(), "/%06llu", static_cast<unsigned long long>(number)));
  return folder + name.data() + std::string(kept_suffix);
}

/// Returns the stores in the directory, complete or not, in the order in which they were kept.
std::vector<kept_store> stores_in(const std::string& folder) {
  std::vector<kept_store> all;
  for (const std::string& name : names_in(folder)) {
    if (const auto number = number_in(name)) all.push_back({*number, path_of(folder, *number)});
  }
  const auto less = [](const kept_store& a, const kept_store& b) { return a.number < b.number; };
  const auto same = [](const kept_store& a, const kept_store& b) { return a.number == b.number; };
  std::sort(all.begin(), all.end(), less);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

/// Returns true if both are names of the same existing file.
bool are_same(const std::string& a, const std::string& b) {
  struct stat one{};
  struct stat other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) refuse_file(path, "remove it");
}
void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) refuse_file(to, "rename '" + from + "' to it");
}

/// Returns the first bytes of a file, or nothing if they cannot be read.
std::vector<std::byte> begin_of(const std::string& path, std::size_t bytes) {
  const pool_detail::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::vector<std::byte> begin(bytes);
  const ssize_t got = file.get() < 0 ? -1 : ::pread(file.get(), begin.data(), bytes, 0);
  begin.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return begin;
}
/// Returns the identity of the pool to which the file or log belongs, or nothing if it cannot be
/// read.
std::optional<pool_format::pool_uuid> pool_in(const std::string& file) {
  const auto reading = pool_format::read_header(begin_of(file, pool_format::page_bytes));
  if (!reading.header) return std::nullopt;
  return reading.header->fixed.uuid;
}
std::optional<pool_format::pool_uuid> pool_of_log(const std::string& log) {
  const auto reading = pool_format::read_log(begin_of(log, pool_format::first_batch_offset));
  if (!reading.start) return std::nullopt;
  return reading.uuid;
}

/// Removes the names that a repair gave to the files of the store before the replacement, because
/// these files are about to change.
void forget_second_names(const std::string& file, const kept_store& kept) {
  const std::string log = log_of(file);
  const bool is_the_stores = are_same(kept.file, file);
  if (is_the_stores) remove_file(kept.file);
  if ((is_the_stores || !is_there(kept.file)) && are_same(log_of(kept.file), log)) {
    remove_file(log_of(kept.file));
  }
}

/// Returns true if both logs have the same size and header, which identify a log among those of
/// its pool.
bool begin_alike(const std::string& a, const std::string& b) {
  struct stat one{};
  struct stat other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_size == other.st_size &&
         begin_of(a, pool_format::first_batch_offset) ==
             begin_of(b, pool_format::first_batch_offset);
}

/// Removes the log of the kept store from the name that the new store's log would have. The kept
/// store has a second name for it, so no data are lost.
void take_away_left_log(const std::string& file, const kept_store& kept) {
  const std::string log = log_of(file);
  if (!is_there(kept.file) || !is_there(log)) return;
  if (are_same(log, log_of(kept.file))) return remove_file(log);
  // In a copied directory, the second names are separate files.
  const auto whose = pool_of_log(log);
  const auto own = pool_in(file);
  if (!whose || !own || whose == own || whose != pool_in(kept.file)) return;
  if (!is_there(log_of(kept.file))) return rename_file(log, log_of(kept.file));
  if (begin_alike(log, log_of(kept.file))) remove_file(log);
}

void make_folder(const std::string& folder, const std::string& directory) {
  struct stat status{};
  const ::mode_t mode = ::stat(directory.c_str(), &status) == 0 ? status.st_mode & 0777 : 0700;
  if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST) refuse_file(folder, "make it");
}

/// Creates a hard link. Returns false if the file system does not support hard links.
bool link_file(const std::string& file, const std::string& as) {
  if (::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, as.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  constexpr std::array without = {EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV};
  if (std::find(without.begin(), without.end(), errno) != without.end()) return false;
  refuse_file(as, "link '" + file + "' to it");
}

/// Creates hard links to both files of the store, durably. Returns false if the file system does
/// not support hard links.
bool link_store(const std::string& file, const std::string& as) {
  const std::string log = log_of(file);
  // The pool is last: its name completes the kept store.
  if (is_there(log) && !link_file(log, log_of(as))) return false;
  if (link_file(file, as)) return true;
  remove_file(log_of(as));  // a rename to a name of the same file has no effect
  return false;
}

}  // namespace

bool is_unfinished_file(std::string_view name) {
  // The names of pool_detail::nascent_file on file systems that do not support unnamed files.
  constexpr std::string_view before = ".store.";
  constexpr std::string_view after = ".new";
  constexpr std::size_t digits = 8;
  if (!name.starts_with(before) || !name.ends_with(after)) return false;
  name.remove_suffix(after.size());
  if (name.size() < before.size() + digits + 1) return false;
  const std::string_view number = name.substr(name.size() - digits);
  return name[name.size() - digits - 1] == '.' &&
         number.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string kept_files_of(const std::string& file) { return folder_of(file) + "/lost"; }

std::string completed_of(const std::string& file) { return folder_of(file) + "/store.repaired"; }

std::vector<std::string> list_kept_files(const std::string& file) {
  const std::string folder = kept_files_of(file);
  std::vector<std::string> files;
  for (const std::string& name : names_in(folder)) {
    if (number_in(name)) files.push_back(folder + "/" + name);
  }
  return files;
}

std::string replace_and_keep(const std::string& file, const std::string& aside) {
  const std::string directory = folder_of(file);
  const std::string folder = kept_files_of(file);
  give_permissions(file, aside);
  make_folder(folder, directory);
  const std::vector<kept_store> before = stores_in(folder);
  const std::string as = path_of(folder, before.empty() ? 1 : before.back().number + 1);
  records::index_file::remove_of(file);
  const bool are_linked = link_store(file, as);
  if (are_linked) {
    sync_directory(folder);
    sync_directory(directory);
    rename_file(aside, file);
  } else {
    const std::string completed = completed_of(file);
    rename_file(aside, completed);
    sync_directory(directory);
    rename_file(file, as);
    if (is_there(log_of(file))) rename_file(log_of(file), log_of(as));
    sync_directory(folder);
    sync_directory(directory);
    rename_file(completed, file);
  }
  sync_directory(directory);
  if (!are_linked) return as;
  // With the old log the new data would be a different store. Until this point the new name may be
  // lost.
  remove_file(log_of(file));
  sync_directory(directory);
  return as;
}

void settle_store(const std::string& file, const std::vector<std::string>& leftovers) {
  for (const std::string& each : leftovers) {
    if (is_there(each) || is_there(log_of(each))) remove_store_files(each);
  }
  for (const std::string& name : names_in(folder_of(file))) {
    if (is_unfinished_file(name)) remove_file(folder_of(file) + "/" + name);
  }
  const std::string completed = completed_of(file);
  const std::string folder = kept_files_of(file);
  const bool is_completed = is_there(completed);
  if (!is_completed && !is_there(folder)) return;
  const std::vector<kept_store> kept = stores_in(folder);
  if (is_completed && is_there(file)) {
    remove_store_files(completed);
  } else if (is_completed) {
    if (is_there(log_of(file)) && !kept.empty()) {
      rename_file(log_of(file), log_of(kept.back().file));
    }
    rename_file(completed, file);
  }
  for (const kept_store& each : kept) forget_second_names(file, each);
  for (const kept_store& each : kept) take_away_left_log(file, each);
  static_cast<void>(::rmdir(folder.c_str()));  // only if it is empty
  sync_directory(folder_of(file));
}

}  // namespace outlast::store_detail
