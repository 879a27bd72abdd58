// A store that does not open any more, or is damaged, becomes one of what can still be read.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/store.hpp>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
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

void remove_files(const std::string& of) {
  for (const std::string& each : {of, log_of(of)}) {
    if (::unlink(each.c_str()) != 0 && errno != ENOENT) refuse(each, "remove it");
  }
}

/// The names in the directory of `path` are durable.
void sync_directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) refuse(directory, "open it");
  const bool synced = ::fsync(opened) == 0;
  ::close(opened);
  if (!synced) refuse(directory, "sync it");
}

/// `aside` takes the place of `file`, whose log goes before: with it, it would be another one's.
void replace(const std::string& file, const std::string& aside) {
  if (std::rename(aside.c_str(), file.c_str()) != 0) refuse(file, "replace it by '" + aside + "'");
  if (::unlink(log_of(file).c_str()) != 0 && errno != ENOENT) refuse(log_of(file), "remove it");
  sync_directory_of(file);
}

}  // namespace

rescue_report rescue_store(const store_options& wanted, medium on, const std::string& aside) {
  store_options damaged = wanted;
  damaged.salvage = true;
  damaged.may_create = false;
  const std::unique_ptr<store> from = open_store(damaged, on);
  rescue_report report;
  report.was_wrong = from->check();
  if (report.was_wrong.empty()) {
    report.keys = from->keys();
    from->close();
    return report;
  }
  remove_files(aside);
  store_options sound = wanted;
  sound.file = aside;
  sound.may_create = true;
  if (sound.capacity_bytes == 0) {
    sound.capacity_bytes = capacity_for(std::filesystem::path(aside).parent_path().string());
  }
  const std::unique_ptr<store> to = open_store(sound, on);
  report.keys = from->rescue(*to);
  to->close();
  if (report.keys == 0) {
    remove_files(aside);
    throw corruption(wanted.file, "nothing in it can be read: " + report.was_wrong);
  }
  replace(wanted.file, aside);
  return report;
}

}  // namespace outlast::store_detail
