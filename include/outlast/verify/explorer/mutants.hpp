// Sites and mutants: every flush and fence that a run passes has a number, and can be switched off
// without recompiling. A verifier that finds nothing wrong after that has proved nothing.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/verify/machine/memory.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace outlast::verify {

enum class site_kind : std::uint8_t { store, write_back, fence };

/// A flush or fence by its place in the source.
struct place {
  domain::site where;
  site_kind kind;
};

/// What is wrong with a mutant.
enum class defect : std::uint8_t {
  missing,  ///< it does not happen
  late,     ///< a flush: behind its thread's next fence; a fence: behind its thread's next store
};

struct mutation {
  place where;
  defect what = defect::missing;
};

/// The places in the source that a run has passed. Numbers are given in order of appearance.
class site_table {
 public:
  struct entry {
    domain::site where;
    site_kind kind;
    std::uint64_t passed;
  };

  site_table();
  /// The number of the site, counting the passage.
  [[nodiscard]] site_id pass(const domain::site& where, site_kind kind) {
    const std::size_t h = slot_of(where, kind);
    const site_id id = slots_[h] != 0 ? static_cast<site_id>(slots_[h] - 1) : add(h, where, kind);
    ++entries_[id].passed;
    return id;
  }
  [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }
  /// The number of a place, without passing it.
  [[nodiscard]] site_id number_of(const place& at);
  /// Flushes and fences that were passed.
  [[nodiscard]] std::vector<place> passed() const;
  /// "harris_list.hpp:123 flush"; a step other than 0 is appended as "/1".
  [[nodiscard]] std::string describe(site_id id) const;

 private:
  [[nodiscard]] std::size_t slot_of(const domain::site& where, site_kind kind) const noexcept;
  site_id add(std::size_t slot, const domain::site& where, site_kind kind);

  std::vector<entry> entries_;
  std::vector<std::uint16_t> slots_;
};

/// "harris_list.hpp:123 flush".
[[nodiscard]] std::string to_text(const place& at);
/// "harris_list.hpp:123 flush missing".
[[nodiscard]] std::string to_text(const mutation& at);

}  // namespace outlast::verify
