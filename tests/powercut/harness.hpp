// Goal: no acknowledged operation is lost when the process dies, at whatever moment.
// Method: a real process works on a real pool and is killed by SIGKILL, again and again; each next
// process, with an address-space layout of its own, opens the pool and shows what survived; the
// parent, which is never killed, judges it against what the dead one had acknowledged. In between
// the process is stopped, its files are copied, and another process opens the copy: what a kill at
// that moment would have left, many times in one life.
//
// A structure joins by a `subject` (how to open it, operate on it and list it) and, where it is
// neither a set nor a map, by a `judge` of its own. The program's main() comes with the harness. A
// set or map of std::uint64_t takes these lines, and CMake's outlast_add_kill_test(my_test):
//
//   #include <tests/powercut/map_subject.hpp>
//   namespace outlast::test::powercut {
//   using policy = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
//   using my_map = my_structure<std::uint64_t, std::uint64_t, policy>;  // my_map(pool, name)
//   std::vector<definition> definitions() { return {define_map<my_map>("my map", 200)}; }
//   TEST(MyKill, loses_nothing) {
//     EXPECT_EQ(kill_again_and_again("my map").complaint, "");
//   }
//   }
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
#include <unordered_map>
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
  /// Does it. Called by `thread`; durable at return. May note the answer in `todo`, for the judge.
  virtual void apply(operation& todo) = 0;
  /// Everything that is in the structure. Nobody else is at work.
  virtual void list(const std::function<void(entry)>& show) = 0;
  /// The first contradiction in the pool or the structure; empty if there is none.
  [[nodiscard]] virtual std::string check() { return {}; }
  /// Leaves the pool clean.
  virtual void close() = 0;
};

/// What survivors are held against, in the parent. Of each thread, every operation that returned
/// must have taken effect, and of the one that had begun, all or nothing.
class checker {
 public:
  virtual ~checker() = default;
  /// A judge that knows the same.
  [[nodiscard]] virtual std::unique_ptr<checker> clone() const = 0;
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
class map_checker : public checker {
 public:
  [[nodiscard]] std::unique_ptr<checker> clone() const override;
  void returned(std::uint32_t thread, const operation& done) override;
  void interrupted(std::uint32_t thread, const operation& begun) override;
  [[nodiscard]] std::string compare(std::span<const entry> survivors) override;

 private:
  using value = std::optional<std::uint64_t>;
  [[nodiscard]] value expected(std::uint64_t key) const;
  [[nodiscard]] bool explained(std::uint64_t key, value found) const;

  std::unordered_map<std::uint64_t, std::uint64_t> content_;
  std::map<std::uint64_t, operation> pending_;  // by key
};

/// What can be killed, by name.
struct definition {
  std::string name;
  std::function<std::unique_ptr<subject>(const std::filesystem::path& folder)> open;
  std::function<std::unique_ptr<checker>()> make_checker = [] {
    return std::make_unique<map_checker>();
  };
  std::string structure = name;  ///< for reports
  std::string policy = {};       ///< for reports, with the domain
};

/// All that this program can kill; each test program defines it.
[[nodiscard]] std::vector<definition> definitions();

/// What happened.
struct result {
  std::string complaint;  ///< empty if nothing was lost and nothing made up
  std::uint64_t kills = 0;
  std::uint64_t kills_at_work = 0;  ///< that hit a thread in the midst of its operations
  std::uint64_t copies = 0;         ///< images of a stopped process that were judged
  std::uint64_t operations = 0;     ///< acknowledged
};

/// How often and how fast.
struct plan {
  std::uint32_t kills = 25;
  std::uint32_t threads = 2;
  /// The longest time between two interruptions, be they copies or the kill.
  std::uint32_t longest_run_ms = 10;
  /// Of each process that comes to work.
  std::uint32_t copies = 1;
  /// One kill in so many hits a child that opens and recovers; 0: none does.
  std::uint32_t early_kills = 4;
  /// The folder of the pool stays if there is a complaint, which then names it.
  bool keeps_evidence = false;
  /// Told after each kill.
  std::function<void(const result&)> progress = [](const result&) {};
};

/// Kills the subject called `name` as planned, then lets one process close the pool and another
/// open it. Stops at the first complaint. Thread-safety: may run in several threads.
[[nodiscard]] result kill_again_and_again(const std::string& name, const plan& how = {});

/// What main() does first: if this process is a child, its whole life, and the status to exit with.
/// kill_main.cpp has such a main().
[[nodiscard]] std::optional<int> run_as_child(int argc, char** argv);

}  // namespace outlast::test::powercut
