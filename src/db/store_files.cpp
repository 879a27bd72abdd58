// Operations on the files of stores: existence, permissions, removal, and syncs of directories.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>
#include <src/db/records/index_file.hpp>
#include <src/db/store_files.hpp>
#include <src/pool/file/file_calls.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace outlast::store_detail {

void refuse_file(const std::string& path, const std::string& action) {
  throw error(errno == ENOSPC || errno == EDQUOT ? errc::no_space : errc::io_failure, path,
              "cannot " + action + ": " + std::generic_category().message(errno));
}

std::string folder_of(const std::string& file) {
  const std::size_t end = file.rfind('/');
  return end == std::string::npos ? "." : file.substr(0, end);
}

void give_permissions(const std::string& file, const std::string& aside) {
  const pool_detail::unique_fd old(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const pool_detail::unique_fd fresh(::open(aside.c_str(), O_RDONLY | O_CLOEXEC));
  if (old.get() >= 0 && fresh.get() >= 0) pool_detail::give_permissions_of(old.get(), fresh.get());
}

bool is_there(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) return true;
  return errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG && errno != ELOOP;
}

unsigned mode_of_file(const std::string& path) {
  constexpr unsigned owners_alone = 0600;
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return status.st_mode & 0777U;
  return errno == ENOENT ? 0 : owners_alone;
}

void remove_store_files(const std::string& file) {
  const auto remove = [](const std::string& each) {
    if (::unlink(each.c_str()) != 0 && errno != ENOENT) refuse_file(each, "remove it");
  };
  records::index_file::remove_of(file);
  remove(file);  // even if there is no memory for the name of the log
  remove(log_of(file));
}

void sync_directory(const std::string& directory) {
  const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) refuse_file(directory, "open it");
  // Some file systems cannot sync a directory and answer EINVAL.
  const bool synced = ::fsync(opened) == 0 || errno == EINVAL;
  const int failure = errno;
  ::close(opened);
  errno = failure;
  if (!synced) refuse_file(directory, "sync it");
}

void name_store(const std::string& file, const std::string& aside) {
  const std::string folder = folder_of(file);  // nothing allocates after the renaming
  give_permissions(file, aside);
  if (std::rename(aside.c_str(), file.c_str()) != 0) {
    refuse_file(file, "rename '" + aside + "' to it");
  }
  sync_directory(folder);
}

}  // namespace outlast::store_detail
