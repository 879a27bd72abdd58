// Backups that the server makes of its data while it serves.
#pragma once

#include <apps/server/key_space.hpp>
#include <apps/server/log.hpp>
#include <outlast/server/resp.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace outlast::apps {

struct backup_settings {
  std::string directory;        ///< where backups are made; empty: none are made
  std::size_t max_backups = 7;  ///< of this pool or store, in the directory
};

/// Makes one backup at a time, in a thread of its own. A backup is a pool or the directory of a
/// store. It has the name of the server's pool or store and the time of its beginning. It gets this
/// name when it is complete and durable, and replaces nothing. After that, the oldest backups
/// beyond the maximum are removed. What an interrupted backup has left is removed by the next one,
/// and by the constructor.
///
/// Thread-safety: the members may be called concurrently. A file in the directory is locked during
/// the life of the object: servers whose pools have the same name cannot share the directory.
class backups final : public server::backup_control {
 public:
  /// Requires: `space` and `to` outlive the object. `file` is the pool or the store. Throws
  /// std::runtime_error if the directory cannot be used, std::system_error.
  backups(const backup_settings& wanted, const std::string& file, key_space& space, log& to);
  /// Cancels a backup that is being made, and waits for its end.
  ~backups() override;
  backups(const backups&) = delete;
  backups& operator=(const backups&) = delete;

  [[nodiscard]] std::string begin() override;
  [[nodiscard]] state present() const override;

 private:
  class lock_file {
   public:
    explicit lock_file(const std::string& path);
    ~lock_file();
    lock_file(const lock_file&) = delete;
    lock_file& operator=(const lock_file&) = delete;

   private:
    int descriptor_;
  };

  void run();
  /// Makes a backup and returns its path. Throws if it fails; then there is none.
  std::string make(std::int64_t began_ms);
  [[nodiscard]] std::string path_of(const std::string& entry) const;
  /// Returns the names of the backups, the oldest first. Throws std::runtime_error.
  [[nodiscard]] std::vector<std::string> list() const;
  void require_room() const;
  void remove_remains() const;
  void remove_surplus(const std::string& newest) const;

  backup_settings settings_;
  std::string name_;  ///< of the pool or store, without its directory
  lock_file lock_;
  key_space& space_;
  log& log_;
  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  state state_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace outlast::apps
