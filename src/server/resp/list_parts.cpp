// Lists as parts of an item.
#include <outlast/base/error.hpp>

#include <src/server/resp/changes.hpp>
#include <src/server/resp/lists.hpp>
#include <src/server/resp/part_names.hpp>
#include <src/server/resp/refusal.hpp>

#include <optional>

namespace outlast::server::resp {
namespace {

constexpr std::size_t list_summary_bytes = 2 * part_names::number_bytes;

std::string index_name(std::uint64_t index) {
  return part_names::name_of(part_names::kind::place, index);
}

}  // namespace

list_ends::list_ends(const item& of) {
  require_type(of, item_type::list);
  if (of.value.size() != list_summary_bytes) {
    throw error(errc::corrupted, "", "the value of a list has a wrong size");
  }
  count = part_names::little_endian(of.value);
  first = part_names::little_endian(of.value.substr(part_names::number_bytes));
}

std::string list_elements::at(std::uint64_t place) const {
  std::string found;
  const bool is_present =
      parts_->read(index_name(ends_.first + place), [&](std::string_view value) { found = value; });
  if (!is_present) throw error(errc::corrupted, "", "an element of a list is absent");
  return found;
}

void list_elements::walk(std::uint64_t place, visitor visit) const {
  std::uint64_t left = place < ends_.count ? ends_.count - place : 0;
  if (left == 0) return;
  parts_->walk(index_name(ends_.first + place), [&](std::string_view, std::string_view value) {
    return visit(place++, value) && --left != 0;
  });
}

void list_elements::walk_back(std::uint64_t place, visitor visit) const {
  std::uint64_t left = place < ends_.count ? ends_.count - place : 0;
  if (left == 0) return;
  parts_->walk_back(index_name(ends_.end() - place), [&](std::string_view, std::string_view value) {
    return visit(place++, value) && --left != 0;
  });
}

edited_list::edited_list(const item* old, item_parts& parts)
    : list_elements(old != nullptr ? list_elements(*old, parts) : list_elements(parts)),
      old_(old),
      before_(ends_) {}

void edited_list::push(bool is_tail, std::string_view value) {
  if (!is_tail) --ends_.first;
  ++ends_.count;
  set(is_tail ? ends_.count - 1 : 0, value);
}

std::string edited_list::pop(bool is_tail) {
  std::string popped = at(is_tail ? ends_.count - 1 : 0);
  drop(is_tail, 1);
  return popped;
}

void edited_list::drop(bool is_tail, std::uint64_t count) {
  if (count == 0) return;
  if (!is_tail) ends_.first += count;
  ends_.count -= count;
  is_changed_ = true;
}

void edited_list::set(std::uint64_t place, std::string_view value) {
  parts_->put(index_name(ends_.first + place), value);
  is_changed_ = true;
}

void edited_list::insert(std::uint64_t place, std::string_view value) {
  if (place < ends_.count - place) {
    --ends_.first;
    ++ends_.count;
    for (std::uint64_t i = 0; i < place; ++i) set(i, at(i + 1));
  } else {
    ++ends_.count;
    for (std::uint64_t i = ends_.count - 1; i > place; --i) set(i, at(i - 1));
  }
  set(place, value);
}

void edited_list::remove(const std::vector<std::uint64_t>& places) {
  if (places.empty()) return;
  if (places.size() == ends_.count) return drop(true, ends_.count);
  const std::uint64_t after_first = ends_.count - places.front();
  if (after_first <= places.back()) {
    auto removed = places.begin();
    std::uint64_t target = places.front();
    for (std::uint64_t i = target; i < ends_.count; ++i) {
      if (removed != places.end() && *removed == i) {
        ++removed;
      } else {
        set(target++, at(i));
      }
    }
    return drop(true, places.size());
  }
  auto removed = places.rbegin();
  std::uint64_t end = places.back() + 1;  // The elements before it move towards it.
  for (std::uint64_t i = end; i-- > 0;) {
    if (removed != places.rend() && *removed == i) {
      ++removed;
    } else {
      set(--end, at(i));
    }
  }
  drop(false, places.size());
}

item_change edited_list::finish() {
  if (!is_changed_) return nothing();
  if (ends_.count == 0) return erased();
  for (std::uint64_t i = before_.first; i < before_.end() && i < ends_.first; ++i) {
    parts_->erase(index_name(i));
  }
  for (std::uint64_t i = before_.end(); i > before_.first && i > ends_.end(); --i) {
    parts_->erase(index_name(i - 1));
  }
  summary_.clear();
  part_names::add_little_endian(summary_, ends_.count);
  part_names::add_little_endian(summary_, ends_.first);
  item_change made = revalued(old_, summary_);
  made.type = static_cast<std::uint8_t>(item_type::list);
  return made;
}

bool read_list(session& to, std::string_view key,
               base::function_ref<void(const list_elements&)> work) {
  return to.look_parts(key, to.how(), [&](const item& seen, item_parts& parts) {
    work(list_elements(seen, parts));
  });
}

void edit_list(session& to, std::string_view key, base::function_ref<void(edited_list&)> work) {
  std::optional<edited_list> edited;  // The change refers to it.
  to.change_parts(key, [&](const item* old, item_parts& parts) {
    edited.emplace(old, parts);
    work(*edited);
    return edited->finish();
  });
}

}  // namespace outlast::server::resp
