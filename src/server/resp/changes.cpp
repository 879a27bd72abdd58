// Changes of items as the commands make them.
#include <src/server/resp/changes.hpp>
#include <src/server/resp/elements.hpp>

#include <exception>
#include <ranges>
#include <utility>

namespace outlast::server::resp {

copied_item::copied_item(const session& in, const item& of, item_parts& from) : copied_item(of) {
  if (type == static_cast<std::uint8_t>(item_type::string)) return;
  copy_budget budget(in);
  from.walk("", [&](std::string_view name, std::string_view part_value) {
    budget.take(sizeof(part) + name.size() + part_value.size());
    parts.push_back({std::string(name), std::string(part_value)});
    return true;
  });
}

item_change copied_item::store_with_parts(item_parts& to) const {
  to.clear();
  for (const part& each : parts) to.put(each.name, each.value);
  return stored();
}

std::optional<copied_item> copy_of(session& in, std::string_view key) {
  std::optional<copied_item> found;
  if (in.space().has_parts()) {
    in.look_parts(key, use::does_not_count,
                  [&](const item& seen, item_parts& parts) { found.emplace(in, seen, parts); });
  } else {
    in.look(key, use::does_not_count, [&](const item& seen) { found.emplace(seen); });
  }
  return found;
}

bool store_copy(session& in, std::string_view key, const copied_item& of,
                base::function_ref<bool(const item*)> permits) {
  bool is_stored = false;
  if (of.parts.empty()) {
    in.change(key, [&](const item* old) {
      is_stored = permits(old);
      return is_stored ? of.stored() : nothing();
    });
  } else {
    in.change_parts(key, [&](const item* old, item_parts& parts) {
      is_stored = permits(old);
      return is_stored ? of.store_with_parts(parts) : nothing();
    });
  }
  return is_stored;
}

void undo_list::note(std::string_view key, std::optional<copied_item> before) {
  entries_.push_back({key, std::move(before)});
}

void undo_list::change(session& in, std::string_view key, item_space::decider decide) {
  if (!in.space().has_parts()) {
    in.change(key, [&](const item* old) {
      note(key, old != nullptr ? std::optional(copied_item(*old)) : std::nullopt);
      return decide(old);
    });
    return;
  }
  in.change_parts(key, [&](const item* old, item_parts& parts) {
    note(key, old != nullptr ? std::optional(copied_item(in, *old, parts)) : std::nullopt);
    return decide(old);
  });
}

void undo_list::undo(session& in) noexcept {
  for (const entry& each : std::views::reverse(entries_)) {
    try {
      if (!each.before) {
        in.change(each.key, [](const item*) { return erased(); });
      } else if (each.before->parts.empty()) {
        in.change(each.key, [&](const item*) {
          item_change made = each.before->stored();
          made.unique = each.before->unique;
          return made;
        });
      } else {
        in.change_parts(each.key, [&](const item*, item_parts& parts) {
          item_change made = each.before->store_with_parts(parts);
          made.unique = each.before->unique;
          return made;
        });
      }
    } catch (const std::exception&) {
      continue;  // The device or the pool refuses it. The command has failed already.
    }
  }
  entries_.clear();
}

void change_together(session& in, base::function_ref<void(undo_list&)> work) {
  in.together([&] {
    undo_list before;
    try {
      work(before);
    } catch (...) {
      before.undo(in);
      throw;
    }
  });
}

}  // namespace outlast::server::resp
