// The interface of tested operations: an operation on files, the state before it, and the check of
// its end.
#pragma once

#include <outlast/db/options.hpp>
#include <tests/files/calls.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace outlast::test::files {

/// The known facts after a process has ended, or was killed, in an operation.
struct end_of_incarnation {
  bool acknowledged = false;  ///< the operation had returned without an error
  bool power_cut = false;     ///< all that was not durable may be gone
  bool unread = false;        ///< something could not be read
};

/// An operation on files. Each member function runs in a child of the test's process. It returns
/// the first defect as a sentence, or "".
class operation {
 public:
  operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  virtual ~operation() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  /// Returns true if the operation reports failures.
  [[nodiscard]] virtual bool reports_failure() const { return true; }
  /// Returns true if all its files are open before it begins, so that it finds none by a name.
  [[nodiscard]] virtual bool holds_its_files() const { return false; }
  /// Returns true if its files survive a power cut.
  [[nodiscard]] virtual bool loses_power() const { return true; }

  /// Creates the state before, in the empty directory `root`. The process ends afterwards like a
  /// killed one.
  virtual void prepare(const std::string& root) = 0;
  /// In the process of the operation, before it.
  virtual void begin(const std::string& /*root*/) {}
  /// The operation. Returns the text of its error.
  [[nodiscard]] virtual std::string run(const std::string& root) = 0;
  /// The operation once more, in the same process, after one that failed.
  [[nodiscard]] virtual std::string run_again(const std::string& root) { return run(root); }
  /// Releases everything.
  virtual void end() {}
  /// Checks the files, in a new process, after the operation has ended in any way.
  [[nodiscard]] virtual std::string check(const std::string& root,
                                          const end_of_incarnation& before) = 0;
};

using operations = std::vector<std::unique_ptr<operation>>;

[[nodiscard]] operations pool_operations();
[[nodiscard]] operations store_operations(db::StoreEngine engine, bool on_disk);
[[nodiscard]] operations upgrade_operations();

// ---- For operations ----

/// Creates a foreign file in a directory in which operations work.
void put_foreign_file(const std::string& path);
/// "" if the foreign file is as it was.
[[nodiscard]] std::string check_foreign_file(const std::string& path);
/// The names in a directory, ascending; none if there is no directory.
[[nodiscard]] std::vector<std::string> names_in(const std::string& directory);
/// A sentence unless the names in a directory are these, or some of them and of `also`.
[[nodiscard]] std::string check_names(const std::string& directory,
                                      const std::vector<std::string>& wanted,
                                      const std::vector<std::string>& also = {});
/// A sentence if a file below the directory whose name holds `part` is open to others than its
/// owner.
[[nodiscard]] std::string check_privacy(const std::string& directory, const std::string& part);

}  // namespace outlast::test::files
