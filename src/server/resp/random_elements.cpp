// Random choices among the elements of an item.
#include <src/server/resp/random_elements.hpp>
#include <src/server/resp/refusal.hpp>

#include <algorithm>
#include <set>

namespace outlast::server::resp {
namespace {

/// An item with at most as many elements is walked.
constexpr std::uint64_t few_elements = 512;
/// Number of elements after a random place among which one is chosen.
constexpr std::uint64_t window = 64;

std::vector<copied_element> all_elements(session& to, const elements& of) {
  std::vector<copied_element> found;
  copy_budget budget(to);
  of.walk([&](std::string_view name, std::string_view value) {
    budget.take(sizeof(copied_element) + name.size() + value.size());
    found.push_back({std::string(name), std::string(value)});
    return true;
  });
  return found;
}

/// Visits the element that is `steps` after the first one at `place`, if there is one.
bool visit_after(const elements& of, std::uint64_t place, std::uint64_t& steps,
                 elements::visitor visit) {
  bool is_visited = false;
  of.walk_from(place, [&](std::uint64_t, std::string_view name, std::string_view value) {
    if (steps-- != 0) return true;
    visit(name, value);
    is_visited = true;
    return false;
  });
  return is_visited;
}

}  // namespace

void visit_random(session& to, const elements& of, elements::visitor visit) {
  const bool is_small = of.size() <= few_elements;
  std::uint64_t steps = to.next_random() % (is_small ? of.size() : window);
  const std::uint64_t place = is_small ? 0 : to.next_random();
  // A walk from a place near the end continues at the beginning.
  if (!visit_after(of, place, steps, visit)) visit_after(of, 0, steps, visit);
}

std::vector<copied_element> distinct_elements(session& to, const elements& of,
                                              std::uint64_t count) {
  std::vector<copied_element> found;
  copy_budget budget(to);
  const auto keep = [&](std::string_view name, std::string_view value) {
    budget.take(sizeof(copied_element) + name.size() + value.size());
    found.push_back({std::string(name), std::string(value)});
    return true;
  };
  if (of.size() > few_elements && count < of.size() / few_elements) {
    std::set<std::string, std::less<>> chosen;
    while (chosen.size() < count) {
      visit_random(to, of, [&](std::string_view name, std::string_view value) {
        return !chosen.emplace(name).second || keep(name, value);
      });
    }
    return found;
  }
  // Selection sampling: an element is taken with the probability needed / left.
  std::uint64_t needed = std::min(count, of.size());
  std::uint64_t left = of.size();
  of.walk([&](std::string_view name, std::string_view value) {
    if (needed == 0) return false;
    if (to.next_random() % left-- >= needed) return true;
    --needed;
    return keep(name, value);
  });
  return found;
}

void visit_repeatedly(session& to, const elements& of, std::uint64_t count,
                      elements::visitor visit) {
  if (of.size() > few_elements && of.size() / few_elements > count) {
    for (std::uint64_t i = 0; i < count; ++i) visit_random(to, of, visit);
    return;
  }
  const std::vector<copied_element> all = all_elements(to, of);
  for (std::uint64_t i = 0; i < count; ++i) {
    const copied_element& chosen = all[to.next_random() % all.size()];
    if (!visit(chosen.name, chosen.value)) return;
  }
}

void random_reply::begin(std::uint64_t count) {
  const bool is_flat = has_values_ && to_.out.protocol() == 2;
  to_.out.array(static_cast<std::size_t>(is_flat ? 2 * count : count));
}

void random_reply::write(std::string_view name, std::string_view value) {
  if (has_values_ && to_.out.protocol() == 3) to_.out.array(2);
  to_.out.bulk(name);
  if (has_values_) write_value_(value);
}

void random_reply::write_one(std::string_view key) {
  const bool is_present = read_elements(to_, key, type_, [&](const elements& found) {
    visit_random(to_, found, [&](std::string_view name, std::string_view value) {
      write(name, value);
      return true;
    });
  });
  if (!is_present) to_.out.null();
}

void random_reply::write_several(std::string_view key, std::int64_t count) {
  constexpr std::uint64_t min_reply_bytes = 6;
  const auto visit = [&](std::string_view name, std::string_view value) {
    write(name, value);
    return !to_.out.is_full();
  };
  const bool is_present = read_elements(to_, key, type_, [&](const elements& found) {
    if (count >= 0) {
      const auto wanted = static_cast<std::uint64_t>(count);
      begin(std::min(wanted, found.size()));
      if (wanted < found.size()) {
        for (const copied_element& each : distinct_elements(to_, found, wanted)) {
          visit(each.name, each.value);
        }
      } else {
        found.walk(visit);
      }
      return;
    }
    const std::uint64_t wanted = 0 - static_cast<std::uint64_t>(count);
    if (wanted > to_.options().limits.reply_bytes / min_reply_bytes) {
      throw refusal("ERR value is out of range, the reply would be too long");
    }
    begin(wanted);
    visit_repeatedly(to_, found, wanted, visit);
  });
  if (!is_present) to_.out.array(0);
}

}  // namespace outlast::server::resp
