// Sites and mutants. Each flush and fence that a run passes has a number and can be disabled
// without recompilation. A verifier that accepts the mutant has not verified that site.
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

/// The kind of defect of a mutant.
enum class defect : std::uint8_t {
  missing,  ///< the instruction is omitted
  late,     ///< a flush takes effect after its thread's next fence, a fence after the next store
};

struct mutation {
  place where;
  defect what = defect::missing;
};

/// The places in the source that a run has passed. They are numbered in order of appearance.
class site_table {
 public:
  struct entry {
    domain::site where;
    site_kind kind;
    std::uint64_t passed;
  };

  site_table();
  /// Counts a passage of the site and returns the number of the site.
  [[nodiscard]] site_id pass(const domain::site& where, site_kind kind) {
    const std::size_t h = slot_of(where, kind);
    const site_id id = slots_[h] != 0 ? static_cast<site_id>(slots_[h] - 1) : add(h, where, kind);
    ++entries_[id].passed;
    return id;
  }
  [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }
  /// Returns the number of a place without counting a passage.
  [[nodiscard]] site_id number_of(const place& at);
  /// Returns the flushes and fences that were passed.
  [[nodiscard]] std::vector<place> passed() const;
  /// Returns a text such as "harris_list.hpp:123 flush". A step other than 0 is appended: "/1".
  [[nodiscard]] std::string describe(site_id id) const;

 private:
  [[nodiscard]] std::size_t slot_of(const domain::site& where, site_kind kind) const noexcept;
  site_id add(std::size_t slot, const domain::site& where, site_kind kind);

  std::vector<entry> entries_;
  std::vector<std::uint16_t> slots_;
};

/// Returns a text such as "harris_list.hpp:123 flush".
[[nodiscard]] std::string to_text(const place& at);
/// Returns a text such as "harris_list.hpp:123 flush missing".
[[nodiscard]] std::string to_text(const mutation& at);

}  // namespace outlast::verify
