// Commands of lists.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/element_replies.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/lists.hpp>
#include <src/server/resp/refusal.hpp>
#include <src/server/resp/score_ranges.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {
namespace {

void push_elements(session& to, arguments words, bool is_tail, bool must_exist) {
  std::uint64_t size = 0;
  edit_list(to, words[1], [&](edited_list& list) {
    if (must_exist && list.size() == 0) return;
    for (const std::string_view value : words.subspan(2)) list.push(is_tail, value);
    size = list.size();
  });
  to.out.integer(static_cast<std::int64_t>(size));
}

void write_values(session& to, const std::vector<std::string>& values) {
  to.out.array(values.size());
  for (const std::string& value : values) {
    if (to.out.is_full()) return;
    to.out.bulk(value);
  }
}

/// Removes elements from an end, and returns them, or nothing if the key is absent.
std::optional<std::vector<std::string>> pop_elements(session& to, std::string_view key,
                                                     bool is_tail, std::uint64_t count) {
  std::optional<std::vector<std::string>> popped;
  edit_list(to, key, [&](edited_list& list) {
    if (list.size() == 0) return;
    const std::uint64_t wanted = std::min(count, list.size());
    popped.emplace();
    copy_budget budget(to);
    const auto take = [&](std::uint64_t, std::string_view value) {
      budget.take(sizeof(std::string) + value.size());
      popped->emplace_back(value);
      return popped->size() != wanted;
    };
    if (wanted == 0) return;
    if (is_tail) {
      list.walk_back(0, take);
    } else {
      list.walk(0, take);
    }
    list.drop(is_tail, wanted);
  });
  return popped;
}

void pop_end(session& to, arguments words, bool is_tail) {
  if (words.size() > 3) return to.refuse_arity(to.running);
  const bool has_count = words.size() == 3;
  std::optional<std::uint64_t> count = 1;
  if (has_count) count = count_of(to, words[2]);
  if (!count) return;
  const std::optional<std::vector<std::string>> popped =
      pop_elements(to, words[1], is_tail, *count);
  if (!popped) return has_count ? to.out.null_array() : to.out.null();
  if (has_count) return write_values(to, *popped);
  to.out.bulk(popped->front());
}

/// Returns the place of an index, whose negative values count from the end, if it exists.
std::optional<std::uint64_t> place_of_index(std::int64_t index, std::uint64_t size) {
  const place_bounds found = places_of(index, index, size);
  const bool is_before = index < 0 && static_cast<std::uint64_t>(-(index + 1)) >= size;
  if (found.count == 0 || is_before) return std::nullopt;
  return found.first;
}

/// Returns which end a word names, or nothing: true for RIGHT.
std::optional<bool> end_of(std::string_view word) noexcept {
  if (is_word(word, "left")) return false;
  if (is_word(word, "right")) return true;
  return std::nullopt;
}

/// Moves an element between two lists. Returns nothing if the first is absent. Requires: the call
/// is part of one change.
std::optional<std::string> move_element(session& to, std::string_view from, std::string_view target,
                                        bool from_tail, bool to_tail) {
  std::optional<std::string> moved;
  if (from == target) {
    edit_list(to, from, [&](edited_list& list) {
      if (list.size() == 0) return;
      moved = list.pop(from_tail);
      list.push(to_tail, *moved);
    });
    return moved;
  }
  read_list(to, from,
            [&](const list_elements& list) { moved = list.at(from_tail ? list.size() - 1 : 0); });
  if (!moved) return moved;
  edit_list(to, target, [&](edited_list& list) { list.push(to_tail, *moved); });
  try {
    edit_list(to, from, [&](edited_list& list) { list.drop(from_tail, 1); });
  } catch (const std::exception&) {
    // The space refuses the removal: the command must have no effect.
    edit_list(to, target, [&](edited_list& list) { list.drop(to_tail, 1); });
    throw;
  }
  return moved;
}

void move_and_write(session& to, arguments words, bool from_tail, bool to_tail) {
  std::optional<std::string> moved;
  to.together([&] { moved = move_element(to, words[1], words[2], from_tail, to_tail); });
  if (moved) {
    to.out.bulk(*moved);
  } else {
    to.out.null();
  }
}

/// Returns the places of a value, in ascending order: the first `limit` from an end, or all if it
/// is 0.
std::vector<std::uint64_t> places_of_value(const list_elements& list, std::string_view value,
                                           bool from_tail, std::uint64_t limit) {
  std::vector<std::uint64_t> found;
  const auto visit = [&](std::uint64_t place, std::string_view element) {
    if (element == value) found.push_back(from_tail ? list.size() - 1 - place : place);
    return limit == 0 || found.size() != limit;
  };
  if (from_tail) {
    list.walk_back(0, visit);
    std::ranges::reverse(found);
  } else {
    list.walk(0, visit);
  }
  return found;
}

/// The options of LPOS.
struct search_options {
  std::int64_t rank = 1;
  std::optional<std::uint64_t> count;
  std::uint64_t max_visited = 0;  ///< 0: no limit
};

/// Returns a number that must not be negative, or adds the error of an option.
std::optional<std::uint64_t> option_value(session& to, std::string_view word,
                                          std::string_view failure) {
  const std::optional<std::int64_t> number = integer_of(word);
  if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  to.out.error(failure);
  return std::nullopt;
}

bool take_rank(session& to, std::string_view word, search_options& into) {
  constexpr std::int64_t min = std::numeric_limits<std::int64_t>::min();
  const std::optional<std::int64_t> rank = integer_of(word);
  if (!rank) {
    to.refuse_integer();
  } else if (*rank == 0) {
    to.out.error(error_texts::rank_of_zero);
  } else if (*rank == min) {
    to.out.error(
        "ERR value is out of range, value must between -9223372036854775807 and "
        "9223372036854775807");
  } else {
    into.rank = *rank;
    return true;
  }
  return false;
}

std::optional<search_options> search_options_of(session& to, arguments words) {
  search_options found;
  for (std::size_t at = 3; at < words.size(); at += 2) {
    if (at + 1 == words.size()) {
      to.refuse_syntax();
      return std::nullopt;
    }
    const std::string_view value = words[at + 1];
    if (is_word(words[at], "rank")) {
      if (!take_rank(to, value, found)) return std::nullopt;
    } else if (is_word(words[at], "count")) {
      found.count = option_value(to, value, "ERR COUNT can't be negative");
      if (!found.count) return std::nullopt;
    } else if (is_word(words[at], "maxlen")) {
      const auto max = option_value(to, value, "ERR MAXLEN can't be negative");
      if (!max) return std::nullopt;
      found.max_visited = *max;
    } else {
      to.refuse_syntax();
      return std::nullopt;
    }
  }
  return found;
}

/// Returns the places that LPOS answers, in its order.
std::vector<std::uint64_t> search(const list_elements& list, std::string_view value,
                                  const search_options& chosen) {
  const bool from_tail = chosen.rank < 0;
  const std::uint64_t wanted = chosen.count.value_or(1);
  std::int64_t skipped = (from_tail ? -chosen.rank : chosen.rank) - 1;
  std::vector<std::uint64_t> found;
  const auto visit = [&](std::uint64_t place, std::string_view element) {
    if (element == value && skipped-- <= 0) {
      found.push_back(from_tail ? list.size() - 1 - place : place);
      if (wanted != 0 && found.size() == wanted) return false;
    }
    return chosen.max_visited == 0 || place + 1 < chosen.max_visited;
  };
  if (from_tail) {
    list.walk_back(0, visit);
  } else {
    list.walk(0, visit);
  }
  return found;
}

}  // namespace

namespace commands {

void lpush(session& to, arguments words) { push_elements(to, words, false, false); }
void rpush(session& to, arguments words) { push_elements(to, words, true, false); }
void lpushx(session& to, arguments words) { push_elements(to, words, false, true); }
void rpushx(session& to, arguments words) { push_elements(to, words, true, true); }
void lpop(session& to, arguments words) { pop_end(to, words, false); }
void rpop(session& to, arguments words) { pop_end(to, words, true); }

void lmpop(session& to, arguments words) {
  const std::optional<pop_request> wanted = pop_request_of(to, words, "left", "right");
  if (!wanted) return;
  std::optional<std::vector<std::string>> popped;
  std::string_view popped_key;
  to.together([&] {
    for (const std::string_view key : wanted->keys) {
      popped = pop_elements(to, key, wanted->is_second, wanted->count);
      popped_key = key;
      if (popped) return;
    }
  });
  if (!popped) return to.out.null_array();
  to.out.array(2);
  to.out.bulk(popped_key);
  write_values(to, *popped);
}

void llen(session& to, arguments words) {
  std::uint64_t size = 0;
  read_list(to, words[1], [&](const list_elements& list) { size = list.size(); });
  to.out.integer(static_cast<std::int64_t>(size));
}

void lrange(session& to, arguments words) {
  const std::optional<std::int64_t> first = integer_of(words[2]);
  const std::optional<std::int64_t> last = integer_of(words[3]);
  if (!first || !last) return to.refuse_integer();
  const bool is_present = read_list(to, words[1], [&](const list_elements& list) {
    const place_bounds wanted = places_of(*first, *last, list.size());
    to.out.array(static_cast<std::size_t>(wanted.count));
    if (wanted.count == 0) return;
    list.walk(wanted.first, [&](std::uint64_t place, std::string_view value) {
      to.out.bulk(value);
      return place + 1 != wanted.first + wanted.count && !to.out.is_full();
    });
  });
  if (!is_present) to.out.array(0);
}

void lindex(session& to, arguments words) {
  std::optional<std::string> found;
  bool is_right = true;
  // The index of an absent key is not read, as in Redis.
  read_list(to, words[1], [&](const list_elements& list) {
    const std::optional<std::int64_t> index = integer_of(words[2]);
    is_right = index.has_value();
    if (!is_right) return;
    const std::optional<std::uint64_t> place = place_of_index(*index, list.size());
    if (place) found = list.at(*place);
  });
  if (!is_right) return to.refuse_integer();
  if (found) {
    to.out.bulk(*found);
  } else {
    to.out.null();
  }
}

void lset(session& to, arguments words) {
  edit_list(to, words[1], [&](edited_list& list) {
    if (list.size() == 0) throw refusal("ERR no such key");
    const std::optional<std::int64_t> index = integer_of(words[2]);
    if (!index) throw refusal("ERR value is not an integer or out of range");
    const std::optional<std::uint64_t> place = place_of_index(*index, list.size());
    if (!place) throw refusal("ERR index out of range");
    list.set(*place, words[3]);
  });
  to.out.ok();
}

void linsert(session& to, arguments words) {
  const bool is_after = is_word(words[2], "after");
  if (!is_after && !is_word(words[2], "before")) return to.refuse_syntax();
  std::int64_t size = 0;
  edit_list(to, words[1], [&](edited_list& list) {
    if (list.size() == 0) return;
    const std::vector<std::uint64_t> places = places_of_value(list, words[3], false, 1);
    size = -1;
    if (places.empty()) return;
    list.insert(places[0] + (is_after ? 1 : 0), words[4]);
    size = static_cast<std::int64_t>(list.size());
  });
  to.out.integer(size);
}

void lrem(session& to, arguments words) {
  const std::optional<std::int64_t> count = integer_of(words[2]);
  if (!count) return to.refuse_integer();
  const bool from_tail = *count < 0;
  const std::uint64_t limit =
      from_tail ? 0 - static_cast<std::uint64_t>(*count) : static_cast<std::uint64_t>(*count);
  std::size_t removed = 0;
  edit_list(to, words[1], [&](edited_list& list) {
    const std::vector<std::uint64_t> places = places_of_value(list, words[3], from_tail, limit);
    removed = places.size();
    list.remove(places);
  });
  to.out.integer(static_cast<std::int64_t>(removed));
}

void ltrim(session& to, arguments words) {
  const std::optional<std::int64_t> first = integer_of(words[2]);
  const std::optional<std::int64_t> last = integer_of(words[3]);
  if (!first || !last) return to.refuse_integer();
  edit_list(to, words[1], [&](edited_list& list) {
    const place_bounds kept = places_of(*first, *last, list.size());
    if (kept.count == 0) return list.drop(true, list.size());
    list.drop(true, list.size() - kept.first - kept.count);
    list.drop(false, kept.first);
  });
  to.out.ok();
}

void lpos(session& to, arguments words) {
  const std::optional<search_options> chosen = search_options_of(to, words);
  if (!chosen) return;
  std::vector<std::uint64_t> found;
  read_list(to, words[1],
            [&](const list_elements& list) { found = search(list, words[2], *chosen); });
  if (!chosen->count) {
    if (found.empty()) return to.out.null();
    return to.out.integer(static_cast<std::int64_t>(found[0]));
  }
  to.out.array(found.size());
  for (const std::uint64_t place : found) to.out.integer(static_cast<std::int64_t>(place));
}

void lmove(session& to, arguments words) {
  const std::optional<bool> from_tail = end_of(words[3]);
  const std::optional<bool> to_tail = end_of(words[4]);
  if (!from_tail || !to_tail) return to.refuse_syntax();
  move_and_write(to, words, *from_tail, *to_tail);
}

void rpoplpush(session& to, arguments words) { move_and_write(to, words, true, false); }

}  // namespace commands

}  // namespace outlast::server::resp
