// Changes of items as the commands of strings make them.
#include <src/server/resp/changes.hpp>

#include <exception>
#include <ranges>

namespace outlast::server::resp {

void undo_list::note(std::string_view key, const item* before) {
  entry& made = entries_.emplace_back();
  made.key = key;
  if (before != nullptr) made.before.emplace_back(*before);
}

void undo_list::undo(session& in) noexcept {
  for (const entry& each : std::views::reverse(entries_)) {
    try {
      in.change(each.key, [&](const item*) {
        if (each.before.empty()) return erased();
        item_change made = each.before.front().stored();
        made.unique = each.before.front().unique;
        return made;
      });
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
