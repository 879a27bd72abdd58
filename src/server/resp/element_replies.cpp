// What commands of hashes, sets and sorted sets have in common.
#include <src/server/resp/element_replies.hpp>
#include <src/server/resp/elements.hpp>
#include <src/server/resp/random_elements.hpp>
#include <src/server/resp/scan_options.hpp>
#include <src/server/resp/words.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace outlast::server::resp {
namespace {

/// Elements that a walk has found, and the place from which the next one continues; 0: none.
struct scanned {
  std::vector<copied_element> found;
  std::uint64_t next = 0;
};

scanned scan_from(const session& to, const elements& of, std::uint64_t from,
                  const scan_options& chosen) {
  scanned made;
  copy_budget budget(to);
  std::size_t visited = 0;
  std::uint64_t last = 0;
  of.walk_from(from, [&](std::uint64_t place, std::string_view name, std::string_view value) {
    // Elements at one place are returned together, for the cursor cannot separate them.
    if (visited >= chosen.count && place != last) {
      made.next = place;
      return false;
    }
    ++visited;
    last = place;
    if (!matches(chosen.pattern, name)) return true;
    budget.take(sizeof(copied_element) + name.size() + value.size());
    made.found.push_back({std::string(name), std::string(value)});
    return true;
  });
  return made;
}

}  // namespace

void write_size(session& to, std::string_view key, item_type type) {
  std::uint64_t size = 0;
  read_elements(to, key, type, [&](const elements& found) { size = found.size(); });
  to.out.integer(static_cast<std::int64_t>(size));
}

void remove_elements(session& to, arguments words, item_type type) {
  std::int64_t removed = 0;
  edit_elements(to, words[1], type, [&](edited_elements& found) {
    for (const std::string_view name : words.subspan(2)) removed += found.remove(name) ? 1 : 0;
  });
  to.out.integer(removed);
}

void scan_elements(session& to, arguments words, item_type type,
                   base::function_ref<void(std::string_view value)> write_value) {
  const std::optional<std::uint64_t> cursor = cursor_of(words[2]);
  if (!cursor) return to.out.error("ERR invalid cursor");
  scanned result;
  bool is_right = true;
  // The options of an absent key are not read, as in Redis.
  read_elements(to, words[1], type, [&](const elements& found) {
    const std::optional<scan_options> chosen = scan_options_of(to, words.subspan(3), false);
    is_right = chosen.has_value();
    if (is_right) result = scan_from(to, found, *cursor, *chosen);
  });
  if (!is_right) return;
  const bool has_values = type != item_type::set;
  to.out.array(2);
  to.out.bulk(std::to_string(result.next));
  to.out.array((has_values ? 2 : 1) * result.found.size());
  for (const copied_element& each : result.found) {
    to.out.bulk(each.name);
    if (has_values) write_value(each.value);
    if (to.out.is_full()) return;
  }
}

std::optional<std::int64_t> random_count_of(session& to, arguments words) {
  constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();
  const std::optional<std::int64_t> count = integer_of(words[2]);
  if (!count) {
    to.refuse_integer();
    return std::nullopt;
  }
  if (*count < -max) {
    to.out.error("ERR value is out of range, value must between " + std::to_string(-max) + " and " +
                 std::to_string(max));
    return std::nullopt;
  }
  if (words.size() == 3) return count;
  const std::string_view wanted = is_word(words[0], "hrandfield") ? "withvalues" : "withscores";
  if (words.size() > 4 || !is_word(words[3], wanted)) {
    to.refuse_syntax();
    return std::nullopt;
  }
  if (*count < -max / 2 || *count > max / 2) {
    to.out.error("ERR value is out of range");
    return std::nullopt;
  }
  return count;
}

std::optional<std::uint64_t> count_of(session& to, std::string_view text) {
  const std::optional<std::int64_t> count = integer_of(text);
  if (count && *count >= 0) return static_cast<std::uint64_t>(*count);
  to.out.error("ERR value is out of range, must be positive");
  return std::nullopt;
}

std::optional<pop_request> pop_request_of(session& to, arguments words, std::string_view first_end,
                                          std::string_view second_end) {
  const auto refuse = [&](std::string_view text) {
    to.out.error(text);
    return std::nullopt;
  };
  const std::optional<std::int64_t> number = integer_of(words[1]);
  if (!number || *number < 1) return refuse("ERR numkeys should be greater than 0");
  const std::size_t left = words.size() - 2;
  if (*number >= static_cast<std::int64_t>(left)) return refuse("ERR syntax error");
  const auto keys = static_cast<std::size_t>(*number);
  pop_request found;
  found.keys = words.subspan(2, keys);
  const arguments rest = words.subspan(2 + keys);
  found.is_second = is_word(rest[0], second_end);
  if (!found.is_second && !is_word(rest[0], first_end)) return refuse("ERR syntax error");
  bool has_count = false;
  for (std::size_t at = 1; at < rest.size(); at += 2) {
    if (has_count || at + 1 == rest.size() || !is_word(rest[at], "count")) {
      return refuse("ERR syntax error");
    }
    const std::optional<std::int64_t> count = integer_of(rest[at + 1]);
    if (!count || *count < 1) return refuse("ERR count should be greater than 0");
    found.count = static_cast<std::uint64_t>(*count);
    has_count = true;
  }
  return found;
}

}  // namespace outlast::server::resp
