// Goal: no acknowledged operation is lost when the process dies, at whatever moment.
// Method: a real process works on a real pool and is killed by SIGKILL, again and again; each next
// process, with an address-space layout of its own, opens the pool and shows what survived; the
// parent, which is never killed, judges it against what the dead one had acknowledged.
//
// A structure joins by a `subject` (how to open it, operate on it and list it) and, where it is
// neither a set nor a map, by a `judge` of its own. The program's main() comes with the harness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace outlast::test::powercut {

/// One operation, in the subject's own code; logged in shared memory before it begins and marked
/// after it has returned.
struct operation {
  std::uint64_t what = 0;
  std::uint64_t key = 0;
  std::uint64_t value = 0;
};

/// One element of a structure's content.
struct entry {
  std::uint64_t key = 0;
  std::uint64_t value = 0;
};

using random_source = std::mt19937_64;

/// A structure under test, inside a child process. Made by opening (or creating) its pool in a
/// folder: the constructor recovers.
class subject {
 public:
  virtual ~subject() = default;
  /// What `thread` does next.
  [[nodiscard]] virtual operation draw(std::uint32_t thread, random_source& random) = 0;
  /// Does it. Called by `thread`; durable at return.
  virtual void apply(const operation& todo) = 0;
  /// Everything that is in the structure. Nobody else is at work.
  virtual void list(const std::function<void(entry)>& show) = 0;
  /// The first contradiction in the pool or the structure; empty if there is none.
  [[nodiscard]] virtual std::string check() { return {}; }
  /// Leaves the pool clean.
  virtual void close() = 0;
};

/// What survivors are held against, in the parent. Of each thread, every operation that returned
/// must have taken effect, and of the one that had begun, all or nothing.
class judge {
 public:
  virtual ~judge() = default;
  virtual void returned(std::uint32_t thread, const operation& done) = 0;
  virtual void interrupted(std::uint32_t thread, const operation& begun) = 0;
  /// Empty if `survivors` can be explained; they are then the truth that later rounds start from.
  [[nodiscard]] virtual std::string compare(std::span<const entry> survivors) = 0;
};

/// Operations of sets and maps. Each key must belong to one thread.
enum map_operation : std::uint64_t {
  insert_if_absent = 1,  ///< key and value are added, unless the key is there
  put = 2,               ///< the key has the value now, whatever was before
  erase = 3,             ///< the key is gone
};

/// The judge of sets (all values equal) and maps.
class map_judge : public judge {
 public:
  void returned(std::uint32_t thread, const operation& done) override;
  void interrupted(std::uint32_t thread, const operation& begun) override;
  [[nodiscard]] std::string compare(std::span<const entry> survivors) override;

 private:
  using value = std::optional<std::uint64_t>;
  [[nodiscard]] value expected(std::uint64_t key) const;
  [[nodiscard]] bool explained(std::uint64_t key, value found) const;

  std::map<std::uint64_t, std::uint64_t> content_;
  std::map<std::uint64_t, operation> pending_;  // by key
};

/// What can be killed, by name.
struct definition {
  std::string name;
  std::function<std::unique_ptr<subject>(const std::filesystem::path& folder)> open;
  std::function<std::unique_ptr<judge>()> make_judge = [] { return std::make_unique<map_judge>(); };
};

/// All that this program can kill; each test program defines it.
[[nodiscard]] std::vector<definition> definitions();

/// How often and how fast.
struct plan {
  std::uint32_t kills = 25;
  std::uint32_t threads = 2;
  std::uint32_t longest_run_ms = 40;
  /// One kill in so many hits a child that opens and recovers.
  std::uint32_t early_kills = 4;
};

/// What happened.
struct result {
  std::string complaint;  ///< empty if nothing was lost and nothing made up
  std::uint64_t operations = 0;
};

/// Kills the subject called `name` as planned, then lets one process close the pool and another
/// open it. Stops at the first complaint.
[[nodiscard]] result kill_again_and_again(const std::string& name, const plan& how = {});

}  // namespace outlast::test::powercut
