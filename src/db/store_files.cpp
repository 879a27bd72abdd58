#include <outlast/base/error.hpp>
#include <outlast/db/detail/store.hpp>
#include <src/db/store_files.hpp>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace outlast::store_detail {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& action) {
  throw error(errc::io_failure, path,
              "cannot " + action + ": " + std::generic_category().message(errno));
}

}  // namespace

void remove_store_files(const std::string& file) {
  for (const std::string& each : {file, log_of(file)}) {
    if (::unlink(each.c_str()) != 0 && errno != ENOENT) refuse(each, "remove it");
  }
}

void sync_directory(const std::string& directory) {
  const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) refuse(directory, "open it");
  const bool synced = ::fsync(opened) == 0;
  const int failure = errno;
  ::close(opened);
  errno = failure;
  if (!synced) refuse(directory, "sync it");
}

void replace_store(const std::string& file, const std::string& aside) {
  if (std::rename(aside.c_str(), file.c_str()) != 0) refuse(file, "replace it by '" + aside + "'");
  // With the log of the old one it would be another store.
  if (::unlink(log_of(file).c_str()) != 0 && errno != ENOENT) refuse(log_of(file), "remove it");
  sync_directory(std::filesystem::path(file).parent_path().string());
}

}  // namespace outlast::store_detail
