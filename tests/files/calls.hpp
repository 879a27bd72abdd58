// The calls on files that the library makes, one by one: recorded, made to fail, the last that a
// process does, or taken back by a power cut that keeps later ones.
//
// The linker puts wrapped_calls.cpp between the library and the system: each name that
// CMakeLists.txt lists as wrapped. What concerns no file below the watched directory passes
// unchanged, and so does everything before watching begins and after it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::test::files {

/// A call in an operation, the same in each run of it.
struct call_id {
  std::string name;         ///< of the system's function, and what it is for
  std::string role;         ///< of the file: its path below the directory, without random parts
  unsigned occurrence = 0;  ///< of this name and this role, from 0 on

  friend bool operator==(const call_id&, const call_id&) = default;
};

/// What a call does in the end, as far as faults are concerned.
enum class effect { none, names, data };

struct recorded_call {
  call_id id;
  std::string site;  ///< the functions of the library that made it, the innermost first
  effect changes = effect::none;
};

enum class action { none, fail, cut_short, kill_before, kill_after, reorder, move };

struct fault {
  call_id at;
  action what = action::none;
  int error_number = 0;       ///< of `fail`
  bool from_then_on = false;  ///< of `fail`: later calls of this name on this role fail, too
  bool everywhere = false;    ///< of `fail`: every call of this name fails, whatever it is on
  /// Of `reorder`: the power is cut after so many later changes, or, if they are fewer, before what
  /// would have made the call's own effect durable.
  unsigned later_changes = ~0U;
};

/// How a process ends in which a fault was to end it.
constexpr int ended_by_fault = 77;

/// Shared with the process that is tried, and there after its death.
struct witness {
  bool reached;            ///< the call was made
  bool cut;                ///< `reorder` took it back
  bool returned;           ///< the operation has returned
  bool acknowledged;       ///< it has returned without an error
  unsigned later_changes;  ///< of `reorder`: how many there were
  char text[2048];         ///< the error of the operation
  char wrong[2048];        ///< the defect that the process itself found afterwards
};

/// Follows descriptors and mappings of files below `root` from now on. `kept`: a directory on the
/// same file system, for what has to be brought back.
void watch(const std::string& root, const std::string& kept);
/// Watched calls are given to `record`, if there is one, and meet `planned`.
void begin_operation(const fault& planned, witness* seen,
                     std::function<void(const recorded_call&)> record = {});
/// A power cut at the end of the operation, if a call's effect is not durable by then.
void end_operation();
/// No fault any more, and no recording.
void end_faults();

/// Where `move` brings the directory `root`, with all that is in it.
[[nodiscard]] std::string moved_to(const std::string& root);
/// Moves `root` there, and makes another directory of its name: files of the same names in it are
/// not ours.
void move_away(const std::string& root);
/// "" if these are as they were.
[[nodiscard]] std::string check_foreign_files(const std::string& root);

}  // namespace outlast::test::files
