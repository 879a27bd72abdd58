// OBJECT ENCODING and MEMORY USAGE.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/elements.hpp>
#include <src/server/resp/lists.hpp>
#include <src/server/resp/part_names.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace outlast::server::resp {
namespace {

/// Size of a key's head and of its place in a table, for MEMORY USAGE.
constexpr std::size_t overhead_bytes = 64;

/// Returns the encoding that Redis would choose for a new string.
std::string_view string_encoding(std::string_view value) noexcept {
  constexpr std::size_t max_embedded_bytes = 44;
  if (integer_of(value)) return "int";
  return value.size() <= max_embedded_bytes ? "embstr" : "raw";
}

/// Returns whether Redis would keep the elements in one block. Visits few elements.
bool is_compact(const elements& of) {
  constexpr std::uint64_t max_elements = 128;
  constexpr std::size_t max_bytes = 64;
  if (of.size() > max_elements) return false;
  bool is_short = true;
  of.walk([&](std::string_view name, std::string_view value) {
    is_short = name.size() <= max_bytes && value.size() <= max_bytes;
    return is_short;
  });
  return is_short;
}

bool has_only_integers(const elements& of) {
  constexpr std::uint64_t max_elements = 512;
  if (of.size() > max_elements) return false;
  bool are_integers = true;
  of.walk([&](std::string_view name, std::string_view) {
    are_integers = integer_of(name).has_value();
    return are_integers;
  });
  return are_integers;
}

/// Calls `parts_work` for an item with parts, and `work` for a string. Returns false if the key is
/// absent.
bool look_at(session& to, std::string_view key, item_space::reader work,
             item_space::parts_reader parts_work) {
  if (!to.space().has_parts()) return to.look(key, use::does_not_count, work);
  return to.look_parts(key, use::does_not_count, [&](const item& found, item_parts& parts) {
    if (found.type == static_cast<std::uint8_t>(item_type::string)) return work(found);
    parts_work(found, parts);
  });
}

/// Returns the encoding that Redis 7.0 would choose for a new item.
std::string_view encoding_of(const item& of, item_parts& parts) {
  const auto type = static_cast<item_type>(of.type);
  if (type == item_type::list) return "quicklist";
  const elements found(of, parts, type);
  if (type == item_type::set) return has_only_integers(found) ? "intset" : "hashtable";
  if (is_compact(found)) return "listpack";
  return type == item_type::hash ? "hashtable" : "skiplist";
}

/// Returns the bytes of the parts, estimated from the first `samples`; 0: all are counted.
std::size_t bytes_of(const item& of, item_parts& parts, std::uint64_t samples) {
  const auto type = static_cast<item_type>(of.type);
  std::uint64_t count =
      type == item_type::list ? list_ends(of).count : elements(of, parts, type).size();
  if (type == item_type::sorted_set) count *= 2;
  std::size_t bytes = 0;
  std::uint64_t seen = 0;
  parts.walk("", [&](std::string_view name, std::string_view value) {
    bytes += name.size() + value.size() + overhead_bytes;
    return ++seen != samples;
  });
  return static_cast<std::size_t>(static_cast<double>(bytes) / static_cast<double>(seen) *
                                  static_cast<double>(count));
}

}  // namespace

namespace commands {

void object_encoding(session& to, arguments words) {
  const bool is_present = look_at(
      to, words[2], [&](const item& found) { to.out.bulk(string_encoding(found.value)); },
      [&](const item& found, item_parts& parts) { to.out.bulk(encoding_of(found, parts)); });
  if (!is_present) to.out.null();
}

void memory_usage(session& to, arguments words) {
  std::uint64_t samples = 5;
  for (std::size_t at = 3; at < words.size(); at += 2) {
    if (!is_word(words[at], "samples") || at + 1 == words.size()) return to.refuse_syntax();
    const std::optional<std::int64_t> wanted = integer_of(words[at + 1]);
    if (!wanted) return to.refuse_integer();
    if (*wanted < 0) return to.refuse_syntax();
    samples = static_cast<std::uint64_t>(*wanted);
  }
  const auto show = [&](const item& found, std::size_t parts_bytes) {
    const std::size_t bytes = words[2].size() + found.value.size() + overhead_bytes;
    to.out.integer(static_cast<std::int64_t>(bytes + parts_bytes));
  };
  const bool is_present = look_at(
      to, words[2], [&](const item& found) { show(found, 0); },
      [&](const item& found, item_parts& parts) { show(found, bytes_of(found, parts, samples)); });
  if (!is_present) to.out.null();
}

}  // namespace commands

}  // namespace outlast::server::resp
