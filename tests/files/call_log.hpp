// Where wrapped calls ask what is to become of them.
#pragma once

#include <tests/files/calls.hpp>
#include <tests/files/kept_change.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace outlast::test::files {

/// A call that is about to be made.
struct arriving_call {
  std::string name;
  std::string role;
  effect changes = effect::none;           ///< if it succeeds
  std::function<kept_change()> keep = {};  ///< before it; nothing: it is not taken back
  std::optional<identity> syncs = {};      ///< what it makes durable
  std::optional<identity> writes = {};     ///< of a change of data: the file, and where
  std::uint64_t offset = 0;
  std::size_t size = 0;
};

class call_log {
 public:
  /// The one of the process.
  static call_log& of_process();

  void watch(const std::string& root, const std::string& kept);
  void begin(const fault& planned, witness* seen, std::function<void(const recorded_call&)> record);
  void end_operation();
  void end_faults();

  /// Is the system to be one without /proc, where a file without a name gets none?
  [[nodiscard]] bool has_no_proc();
  /// The role of a path below the directory; nothing for others.
  [[nodiscard]] std::optional<std::string> role_of(const char* path) const;
  [[nodiscard]] std::optional<std::string> role_of(int descriptor) const;
  [[nodiscard]] std::optional<std::string> role_of_mapping(const void* address) const;
  [[nodiscard]] std::optional<identity> file_of_mapping(const void* address) const;
  [[nodiscard]] bool is_armed() const { return armed_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::string& kept() const { return kept_; }

  void opened(int descriptor, const std::string& role);
  void closed(int descriptor);
  void mapped(const void* address, std::size_t size, const std::string& role,
              std::optional<identity> file);

  /// What a call meets: an error number, 0 for none; `cut_short`.
  struct verdict {
    int error_number = 0;
    bool cut_short = false;
    bool is_target = false;
    std::optional<recorded_call> record = std::nullopt;
  };
  [[nodiscard]] verdict arrive(const arriving_call& call);
  void leave(const arriving_call& call, verdict& met, bool succeeded);

 private:
  struct mapping {
    std::uintptr_t end;
    std::string role;
    std::optional<identity> file;
  };

  [[nodiscard]] const mapping* mapping_at(const void* address) const;
  void lose_power();

  mutable std::mutex mutex_;
  std::string root_;
  std::string kept_;
  std::atomic<bool> armed_{false};
  fault planned_;
  witness* seen_ = nullptr;
  std::function<void(const recorded_call&)> record_;
  std::map<std::pair<std::string, std::string>, unsigned> counts_;
  std::unordered_map<int, std::string> descriptors_;
  std::map<std::uintptr_t, mapping> mappings_;
  std::optional<kept_change> change_;  // that may still be taken back
};

}  // namespace outlast::test::files
