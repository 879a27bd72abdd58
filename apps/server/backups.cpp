#include <apps/server/backups.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace outlast::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished = ".unfinished";
constexpr std::string_view shape_of_stamp = "00000000T000000.000Z";

/// Returns a time as "20261129T040457.123Z". The order of the texts is that of the times.
std::string stamp_of(std::int64_t time_ms) {
  const auto seconds = static_cast<std::time_t>(time_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%S", &parts);
  std::array<char, 8> rest{};
  std::snprintf(rest.data(), rest.size(), ".%03dZ", static_cast<int>(time_ms % 1000));
  return std::string(text.data()) + rest.data();
}

bool is_stamp(std::string_view text) {
  return std::ranges::equal(text, shape_of_stamp, [](char letter, char shape) {
    return shape == '0' ? letter >= '0' && letter <= '9' : letter == shape;
  });
}

/// Returns the time of a stamp in milliseconds since 1970.
std::int64_t time_of(const std::string& stamp) {
  std::tm parts{};
  ::strptime(stamp.c_str(), "%Y%m%dT%H%M%S", &parts);
  return std::int64_t{::timegm(&parts)} * 1000 + std::stoi(stamp.substr(16, 3));
}

std::string name_of_file(const std::string& file) {
  const fs::path path = fs::absolute(file).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

[[noreturn]] void refuse(const std::string& path, const std::string& action, int failure) {
  throw std::runtime_error(path + ": cannot " + action + ": " +
                           std::generic_category().message(failure));
}

std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> all;
  std::error_code wrong;
  fs::directory_iterator at(directory, wrong);
  for (; !wrong && at != fs::directory_iterator(); at.increment(wrong)) {
    all.push_back(at->path().filename().string());
  }
  if (wrong) refuse(directory, "read the directory of backups", wrong.value());
  return all;
}

void sync_directory(const std::string& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) refuse(path, "open the directory of backups", errno);
  // Some file systems cannot sync a directory and answer EINVAL.
  const int failure = ::fsync(opened) == 0 || errno == EINVAL ? 0 : errno;
  ::close(opened);
  if (failure != 0) refuse(path, "sync the directory of backups", failure);
}

/// Renames a complete backup. Only this server gives such names in the directory.
void give_name(const std::string& from, const std::string& to) {
  if (fs::exists(fs::symlink_status(to))) refuse(to, "name the backup", EEXIST);
  if (std::rename(from.c_str(), to.c_str()) != 0) refuse(to, "name the backup", errno);
}

}  // namespace

// ---- lock_file ----

backups::lock_file::lock_file(const std::string& path)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (descriptor_ < 0) {
    throw std::runtime_error("the directory of backups cannot be used: cannot open " + path + ": " +
                             std::generic_category().message(errno) +
                             "; create the directory for the user of the server, or name another");
  }
  // A server that was killed keeps the lock until the kernel has removed it.
  constexpr std::chrono::milliseconds interval{20};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int failure = errno;
    if (failure == EINTR) continue;
    if (failure == EWOULDBLOCK && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(interval);
      continue;
    }
    ::close(descriptor_);
    if (failure != EWOULDBLOCK) refuse(path, "lock it", failure);
    throw std::runtime_error(path +
                             " is locked: another server makes backups of the same name in this "
                             "directory; set --backup-dir to another one");
  }
}

backups::lock_file::~lock_file() { ::close(descriptor_); }

// ---- backups ----

backups::backups(const backup_settings& wanted, const std::string& file, key_space& space, log& to)
    : settings_(wanted),
      name_(name_of_file(file)),
      lock_(path_of("." + name_ + ".lock")),
      space_(space),
      log_(to) {
  remove_remains();
  if (const std::vector<std::string> all = list(); !all.empty()) {
    state_.last = path_of(all.back());
    state_.last_ms = time_of(all.back().substr(name_.size() + 1));
  }
  thread_ = std::thread([this] { run(); });
}

backups::~backups() {
  {
    const std::lock_guard lock(mutex_);
    stops_.store(true);
    wakes_.notify_one();
  }
  thread_.join();
}

std::string backups::begin() {
  const std::lock_guard lock(mutex_);
  if (state_.runs) return "Background save already in progress";
  if (stops_.load()) return "the server ends, and no backup begins";
  state_.runs = true;
  state_.began_ms = now_ms();
  wakes_.notify_one();
  return {};
}

server::backup_control::state backups::present() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void backups::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wakes_.wait(lock, [&] { return stops_.load() || state_.runs; });
    if (!state_.runs) return;
    const std::int64_t began_ms = state_.began_ms;
    lock.unlock();
    std::string made;
    std::string failure;
    try {
      made = make(began_ms);
    } catch (const std::exception& wrong) {
      failure = wrong.what();
      log_.add((stops_.load() ? "the backup was cancelled by the end of the server: "
                              : "the backup failed: ") +
               failure);
    }
    lock.lock();
    state_.runs = false;
    state_.has_failed = made.empty();
    state_.failure = failure;
    state_.took_ms = std::max<std::int64_t>(now_ms() - began_ms, 0);
    ++(made.empty() ? state_.failed : state_.made);
    if (made.empty()) continue;
    state_.last_ms = began_ms;
    state_.last = made;
  }
}

std::string backups::make(std::int64_t began_ms) {
  const auto began = std::chrono::steady_clock::now();
  remove_remains();
  require_room();
  std::string entry;
  do {
    entry = name_ + "-" + stamp_of(began_ms++);
  } while (fs::exists(fs::symlink_status(path_of(entry))));
  const std::string temporary = path_of("." + entry + std::string(unfinished));
  const std::string path = path_of(entry);
  std::string figures;
  try {
    figures = space_.backup(temporary, [&] {
      if (stops_.load()) throw std::runtime_error(path + ": the copy is not complete");
    });
    give_name(temporary, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  try {
    sync_directory(settings_.directory);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
    throw;
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  log_.add("backup " + path + " made in " + std::to_string(taken.count()) + " s" + figures);
  remove_surplus(entry);
  return path;
}

std::string backups::path_of(const std::string& entry) const {
  return (fs::path(settings_.directory) / entry).string();
}

std::vector<std::string> backups::list() const {
  std::vector<std::string> all;
  const std::string begin = name_ + "-";
  for (const std::string& entry : entries_of(settings_.directory)) {
    if (entry.starts_with(begin) && is_stamp(std::string_view(entry).substr(begin.size()))) {
      all.push_back(entry);
    }
  }
  std::ranges::sort(all);
  return all;
}

/// Throws std::runtime_error if the file system has no room for a backup. Without this, a backup
/// would take the room that the server needs for its own file until it fails.
void backups::require_room() const {
  std::error_code wrong;
  const fs::space_info room = fs::space(settings_.directory, wrong);
  if (wrong) refuse(settings_.directory, "find the free space of backups", wrong.value());
  const std::uint64_t wanted = space_.backup_bytes();
  const bool is_known = room.capacity != 0;  // a tmpfs without a limit has no capacity
  if (!is_known || room.available >= wanted) return;
  throw std::runtime_error(settings_.directory + ": there is no space for a backup of " +
                           std::to_string(wanted >> 20) + " MB; " +
                           std::to_string(room.available >> 20) +
                           " MB are free; remove old backups, or set a smaller --max-backups");
}

/// Removes what interrupted backups have left. The lock of the directory is held, so that no other
/// server makes them.
void backups::remove_remains() const {
  const std::string begin = name_ + "-";
  for (const std::string& entry : entries_of(settings_.directory)) {
    std::string_view rest = entry;
    if (!rest.starts_with('.')) continue;
    rest.remove_prefix(1);
    // On a file system without unnamed files, the name of a new pool has a dot and an ending more.
    if (!rest.starts_with(begin) && rest.starts_with('.')) rest.remove_prefix(1);
    if (!rest.starts_with(begin)) continue;
    rest.remove_prefix(begin.size());
    if (!is_stamp(rest.substr(0, shape_of_stamp.size()))) continue;
    if (!rest.substr(shape_of_stamp.size()).starts_with(unfinished)) continue;
    const std::string path = path_of(entry);
    std::error_code wrong;
    fs::remove_all(path, wrong);
    log_.add(wrong ? path + ": cannot remove this unfinished backup: " + wrong.message()
                   : "unfinished backup " + path + " removed");
  }
}

/// Removes the oldest backups beyond the maximum, but never the newest, whatever its time is.
void backups::remove_surplus(const std::string& newest) const {
  try {
    std::vector<std::string> all = list();
    std::erase(all, newest);
    for (const std::string& each : all) {
      if (all.size() - static_cast<std::size_t>(&each - all.data()) < settings_.max_backups) break;
      // A removal that is interrupted leaves no directory that looks like a whole backup.
      const std::string aside = path_of("." + each + std::string(unfinished));
      if (std::rename(path_of(each).c_str(), aside.c_str()) != 0) {
        refuse(path_of(each), "rename the oldest backup to remove it", errno);
      }
      fs::remove_all(aside);
      log_.add("backup " + path_of(each) + " removed: --max-backups is " +
               std::to_string(settings_.max_backups));
    }
  } catch (const std::exception& wrong) {
    log_.add(std::string("a backup beyond --max-backups stays: ") + wrong.what());
  }
}

}  // namespace outlast::apps
