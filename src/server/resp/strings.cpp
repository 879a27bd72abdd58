// Commands that read and write whole values and parts of them.
#include <src/server/resp/changes.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::resp {
namespace {

/// A part of a value, from `begin`.
std::string_view part_of(std::string_view value, std::int64_t begin, std::int64_t end) {
  const auto size = static_cast<std::int64_t>(value.size());
  if (begin < 0 && end < 0 && begin > end) return {};
  if (begin < 0) begin = std::max<std::int64_t>(begin + size, 0);
  if (end < 0) end = std::max<std::int64_t>(end + size, 0);
  end = std::min(end, size - 1);
  if (begin > end || size == 0) return {};
  return value.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin + 1));
}

/// Stores the pairs of MSET and MSETNX. Requires: the call is part of one change.
void store_pairs(session& to, arguments words, undo_list* before) {
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const auto store = [&](const item*) { return stored(words[i + 1], 0, to.now_ms()); };
    if (before != nullptr) {
      before->change(to, words[i], store);
    } else {
      to.change(words[i], store);
    }
  }
}

}  // namespace

namespace commands {

void get(session& to, arguments words) {
  if (!to.look_string(words[1], [&](const item& found) { to.out.bulk(found.value); }))
    to.out.null();
}

void strlen(session& to, arguments words) {
  std::size_t size = 0;
  to.look_string(words[1], [&](const item& found) { size = found.value.size(); });
  to.out.integer(static_cast<std::int64_t>(size));
}

void getrange(session& to, arguments words) {
  const std::optional<std::int64_t> begin = integer_of(words[2]);
  const std::optional<std::int64_t> end = integer_of(words[3]);
  if (!begin || !end) return to.refuse_integer();
  const bool is_present = to.look_string(
      words[1], [&](const item& found) { to.out.bulk(part_of(found.value, *begin, *end)); });
  if (!is_present) to.out.bulk("");
}

void mget(session& to, arguments words) {
  const auto read_all = [&] {
    to.out.array(words.size() - 1);
    for (const std::string_view key : words.subspan(1)) {
      if (to.out.is_full()) return;
      bool is_string = false;  // An item of another type has no value for MGET.
      to.look(key, [&](const item& found) {
        is_string = found.type == static_cast<std::uint8_t>(item_type::string);
        if (is_string) to.out.bulk(found.value);
      });
      if (!is_string) to.out.null();
    }
  };
  if (words.size() == 2) return read_all();
  to.together(read_all);
}

void mset(session& to, arguments words) {
  if (words.size() % 2 == 0) return to.refuse_arity("mset");
  if (words.size() == 3) {
    store_pairs(to, words, nullptr);
  } else {
    change_together(to, [&](undo_list& before) { store_pairs(to, words, &before); });
  }
  to.out.ok();
}

void msetnx(session& to, arguments words) {
  if (words.size() % 2 == 0) return to.refuse_arity("msetnx");
  bool is_free = true;
  change_together(to, [&](undo_list& before) {
    for (std::size_t i = 1; i < words.size() && is_free; i += 2) {
      is_free = !to.look(words[i], use::does_not_count, [](const item&) {});
    }
    if (is_free) store_pairs(to, words, &before);
  });
  to.out.integer(is_free ? 1 : 0);
}

void setnx(session& to, arguments words) {
  const change_result done = to.change(words[1], [&](const item* old) {
    return old == nullptr ? stored(words[2], 0, to.now_ms()) : nothing();
  });
  to.out.integer(done.changed ? 1 : 0);
}

void getset(session& to, arguments words) {
  to.change_string(words[1], [&](const item* old) {
    if (old != nullptr) {
      to.out.bulk(old->value);
    } else {
      to.out.null();
    }
    return stored(words[2], 0, to.now_ms());
  });
}

void getdel(session& to, arguments words) {
  to.change_string(words[1], [&](const item* old) {
    if (old == nullptr) {
      to.out.null();
      return nothing();
    }
    to.out.bulk(old->value);
    return erased();
  });
}

void append(session& to, arguments words) {
  std::size_t size = 0;
  bool has_room = true;
  to.change_string(words[1], [&](const item* old) {
    const std::string_view value = old != nullptr ? old->value : std::string_view();
    size = value.size() + words[2].size();
    has_room = size <= to.options().limits.bulk_bytes;
    return has_room ? revalued(old, value, words[2]) : nothing();
  });
  if (!has_room) return to.out.error(error_texts::too_long);
  to.out.integer(static_cast<std::int64_t>(size));
}

void setrange(session& to, arguments words) {
  const std::optional<std::int64_t> offset = integer_of(words[2]);
  if (!offset) return to.refuse_integer();
  if (*offset < 0) return to.out.error("ERR offset is out of range");
  const std::string_view part = words[3];
  const auto begin = static_cast<std::size_t>(*offset);
  const std::size_t limit = to.options().limits.bulk_bytes;
  const bool has_room = begin <= limit && part.size() <= limit - begin;
  std::string value;
  std::size_t size = 0;
  to.change_string(words[1], [&](const item* old) {
    if (old != nullptr) size = old->value.size();
    if (part.empty() || !has_room) return nothing();
    if (old != nullptr) value = old->value;
    size = std::max(size, begin + part.size());
    value.resize(size);
    std::ranges::copy(part, value.begin() + *offset);
    return revalued(old, value);
  });
  if (!part.empty() && !has_room) return to.out.error(error_texts::too_long);
  to.out.integer(static_cast<std::int64_t>(size));
}

}  // namespace commands

}  // namespace outlast::server::resp
