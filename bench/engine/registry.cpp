#include <bench/engine/registry.hpp>

#include <outlast/base/error.hpp>

#include <algorithm>
#include <utility>

namespace outlast::bench {

void registry::add(registration entry) {
  if (find(entry.names) != nullptr) {
    throw error(errc::bad_argument, "",
                entry.names.structure + ", " + entry.names.policy + ", " + entry.names.domain +
                    " is registered twice");
  }
  entries_.push_back(std::move(entry));
}

void registry::count_as(std::string_view domain, std::string_view other) {
  for (registration& entry : entries_) {
    if (entry.names.domain != domain || entry.make_counting) continue;
    const registration* const counted =
        find({entry.names.structure, entry.names.policy, std::string(other)});
    if (counted != nullptr) entry.make_counting = counted->make_counting;
  }
}

const registration* registry::find(const combination& names) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const registration& entry) { return entry.names == names; });
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<std::string> registry::structures() const { return distinct(&combination::structure); }
std::vector<std::string> registry::policies() const { return distinct(&combination::policy); }
std::vector<std::string> registry::domains() const { return distinct(&combination::domain); }

std::vector<std::string> registry::distinct(std::string combination::* field) const {
  std::vector<std::string> names;
  for (const registration& entry : entries_) {
    const std::string& name = entry.names.*field;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace outlast::bench
