// The table of sites, and mutations of them.
#include <outlast/verify/explorer/mutants.hpp>

#include <outlast/base/hash.hpp>

#include <cstring>
#include <string_view>

namespace outlast::verify {
namespace {

constexpr std::size_t slot_count = 1U << 13;

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool same_place(const domain::site& a, const domain::site& b) {
  return a.line() == b.line() && a.column() == b.column() && a.step == b.step &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

std::string_view name_of(site_kind kind) {
  switch (kind) {
    case site_kind::store: return "store";
    case site_kind::write_back: return "flush";
    case site_kind::fence: return "fence";
  }
  return "?";
}

}  // namespace

site_table::site_table() : slots_(slot_count, 0) { entries_.reserve(256); }

/// By line and column: the file's name is compared only where these agree.
std::size_t site_table::slot_of(const domain::site& where, site_kind kind) const noexcept {
  const std::uint64_t numbers = std::uint64_t{where.line()} << 32 | where.step << 24 |
                                where.column() << 2 | static_cast<std::uint64_t>(kind);
  std::size_t slot = base::mix64(numbers) % slot_count;
  while (slots_[slot] != 0) {
    const entry& e = entries_[slots_[slot] - 1U];
    if (e.kind == kind && same_place(e.where, where)) break;
    slot = (slot + 1) % slot_count;
  }
  return slot;
}

site_id site_table::add(std::size_t slot, const domain::site& where, site_kind kind) {
  entries_.push_back({where, kind, 0});
  slots_[slot] = static_cast<std::uint16_t>(entries_.size());
  return static_cast<site_id>(entries_.size() - 1);
}

site_id site_table::number_of(const place& at) {
  const std::size_t slot = slot_of(at.where, at.kind);
  return slots_[slot] != 0 ? static_cast<site_id>(slots_[slot] - 1) : add(slot, at.where, at.kind);
}

std::vector<place> site_table::passed() const {
  std::vector<place> places;
  for (const entry& e : entries_) {
    if (e.kind != site_kind::store && e.passed > 0) places.push_back({e.where, e.kind});
  }
  return places;
}

std::string site_table::describe(site_id id) const {
  return to_text(place{entries_[id].where, entries_[id].kind});
}

std::string to_text(const place& at) {
  std::string text(base_name(at.where.file_name()));
  text += ':' + std::to_string(at.where.line());
  if (at.where.step != 0) text += '/' + std::to_string(at.where.step);
  return text + ' ' + std::string(name_of(at.kind));
}

std::string to_text(const mutation& at) {
  return to_text(at.where) + (at.what == defect::missing ? " missing" : " late");
}

}  // namespace outlast::verify
