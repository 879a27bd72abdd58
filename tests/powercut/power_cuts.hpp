// Goal: all acknowledged operations of a pool file are present after a power cut at any moment, and
// the pool is valid. Method: threads (fibers, so that a seed determines everything) work on a pool
// file on a lossy disk (verify/machine/lossy_disk.hpp), in one incarnation after the other.
// Sometimes, mainly before and after fences, the disk is frozen. Some of the images that a power
// cut can leave are then opened, recovered, read, and checked against the history up to that
// moment; pool and allocator are examined. Power cuts interrupt recoveries too. The next
// incarnation begins on one of the images, so all later operations depend on its recovery.
//
// A structure needs a `file_subject`; map_on_disk.hpp has the one of sets and maps.
#pragma once

#include <outlast/pool/any_domain.hpp>
#include <outlast/verify/checkers/history.hpp>
#include <outlast/verify/checkers/oracle.hpp>
#include <outlast/verify/explorer/subject.hpp>
#include <outlast/verify/machine/lossy_disk.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace outlast::test::powercut {

/// A structure in a pool file on domain::lossy_file, or a domain built on it.
class file_subject {
 public:
  virtual ~file_subject() = default;
  [[nodiscard]] virtual const verify::oracle& checker() const = 0;
  /// Makes a pool without the structure and closes it. Its free pages hold garbage.
  virtual void create(const std::string& path) = 0;
  /// Opens the pool, lets it grow if `grow`, and opens the structure, which is empty if it is not
  /// there yet. Throws if the pool contradicts itself.
  [[nodiscard]] virtual std::unique_ptr<verify::world> open(const std::string& path, bool grow) = 0;
};

/// What power can be cut under, by name.
struct file_definition {
  std::string structure;
  std::string policy;
  std::function<std::unique_ptr<file_subject>()> make;
};

/// How many images, and of what.
struct cut_plan {
  std::uint64_t seed = 1;
  std::uint64_t images = 10'000;
  unsigned threads = 2;
  unsigned operations = 6;  ///< of each thread, in each incarnation
  unsigned keys = 4;
  verify::disk_faults faults{};
  /// At close the disk gets the header, with its mark, before anything else. A fault.
  bool closes_mark_first = false;
};

/// What happened.
struct cut_result {
  std::uint64_t incarnations = 0;
  std::uint64_t fences = 0;        ///< places where power could be cut, before and after each fence
  std::uint64_t images = 0;        ///< opened and checked; distinct for each cut point
  std::uint64_t nested = 0;        ///< of these, left by a recovery that was cut off
  std::uint64_t acknowledged = 0;  ///< operations
  std::string complaint;           ///< empty if nothing was wrong
};

/// Cuts power as planned. Stops at the first complaint. Deterministic.
[[nodiscard]] cut_result cut_power_again_and_again(file_subject& subject, const cut_plan& how);

}  // namespace outlast::test::powercut
