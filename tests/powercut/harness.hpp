// Goal: no acknowledged operation is lost when the process is killed, at any moment. Method: a real
// process works on a real pool and is killed by SIGKILL, repeatedly. Each next process, with an
// address-space layout of its own, opens the pool and reports the surviving content. The parent,
// which is never killed, compares it with the acknowledged operations. The process is also stopped
// several times, its files are copied, and another process opens the copy, which is the image of a
// kill at that moment.
//
// A structure needs a `subject`, which opens it, operates on it and lists it. A structure that is
// neither a set nor a map also needs a `checker` of its own. The harness contains the main(). A set
// or map of std::uint64_t needs these lines, and CMake's outlast_add_kill_test(my_test):
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
  /// Returns the next operation of `thread`.
  [[nodiscard]] virtual operation draw(std::uint32_t thread, random_source& random) = 0;
  /// Performs the operation, durably. Called by `thread`. It may store the result in `todo`.
  virtual void apply(operation& todo) = 0;
  /// Shows all elements of the structure. No other thread is at work.
  virtual void list(const std::function<void(entry)>& show) = 0;
  /// Returns the first contradiction in the pool or the structure, or "".
  [[nodiscard]] virtual std::string check() { return {}; }
  /// Closes the pool.
  virtual void close() = 0;
};

/// Compares survivors with the operations, in the parent. For each thread, every operation that
/// returned must have taken effect, and the interrupted one completely or not at all.
class checker {
 public:
  virtual ~checker() = default;
  /// Returns a checker with the same state.
  [[nodiscard]] virtual std::unique_ptr<checker> clone() const = 0;
  virtual void returned(std::uint32_t thread, const operation& done) = 0;
  virtual void interrupted(std::uint32_t thread, const operation& begun) = 0;
  /// Returns "" if the operations explain `survivors`, which are then the initial state of the next
  /// round.
  [[nodiscard]] virtual std::string compare(std::span<const entry> survivors) = 0;
};

/// Operations of sets and maps. Each key must belong to one thread.
enum map_operation : std::uint64_t {
  insert_if_absent = 1,  ///< key and value are added, unless the key is there
  put = 2,               ///< the key has the value now, whatever was before
  erase = 3,             ///< the key is gone
};

/// The checker of sets (all values equal) and maps.
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

/// A subject for kills, by name.
struct definition {
  std::string name;
  std::function<std::unique_ptr<subject>(const std::filesystem::path& folder)> open;
  std::function<std::unique_ptr<checker>()> make_checker = [] {
    return std::make_unique<map_checker>();
  };
  std::string structure = name;  ///< for reports
  std::string policy = {};       ///< for reports, with the domain
};

/// Returns all subjects of this program. Each test program defines it.
[[nodiscard]] std::vector<definition> definitions();

/// The counts of a campaign.
struct result {
  std::string complaint;  ///< empty if no operation was lost and none invented
  std::uint64_t kills = 0;
  std::uint64_t kills_at_work = 0;  ///< kills that interrupted an operation
  std::uint64_t copies = 0;         ///< images of a stopped process that were checked
  std::uint64_t operations = 0;     ///< acknowledged
};

/// How often and how fast.
struct plan {
  std::uint32_t kills = 25;
  std::uint32_t threads = 2;
  /// Maximum time between two interruptions by copies or the kill.
  std::uint32_t longest_run_ms = 10;
  /// Number of copies of each process that works.
  std::uint32_t copies = 1;
  /// One kill in `early_kills` interrupts opening and recovery; 0: none does.
  std::uint32_t early_kills = 4;
  /// If true and there is a complaint, the folder of the pool is kept, and the complaint names it.
  bool keeps_evidence = false;
  /// Called after each kill.
  std::function<void(const result&)> progress = [](const result&) {};
};

/// Kills the subject called `name` as planned, then lets one process close the pool and another
/// open it. Stops at the first complaint. Thread-safety: may run in several threads.
[[nodiscard]] result kill_again_and_again(const std::string& name, const plan& how = {});

/// Must be called first in main(). If this process is a child, runs it and returns its exit status.
/// kill_main.cpp has such a main().
[[nodiscard]] std::optional<int> run_as_child(int argc, char** argv);

}  // namespace outlast::test::powercut
