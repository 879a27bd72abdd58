// Commands of hashes.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/element_replies.hpp>
#include <src/server/resp/elements.hpp>
#include <src/server/resp/random_elements.hpp>
#include <src/server/resp/refusal.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::resp {
namespace {

constexpr item_type hash = item_type::hash;

/// Stores pairs. Returns the number of new fields.
std::int64_t store_fields(session& to, arguments words) {
  std::int64_t added = 0;
  edit_elements(to, words[1], hash, [&](edited_elements& fields) {
    for (std::size_t at = 2; at < words.size(); at += 2) {
      added += fields.put(words[at], words[at + 1]) ? 1 : 0;
    }
  });
  return added;
}

/// Returns the value of a field, or nothing.
std::optional<std::string> value_of(const elements& fields, std::string_view name) {
  std::optional<std::string> found;
  fields.read(name, [&](std::string_view value) { found.emplace(value); });
  return found;
}

/// Adds names, values, or both to the reply.
void write_fields(session& to, std::string_view key, bool has_names, bool has_values) {
  const bool is_map = has_names && has_values;
  const bool is_present = read_elements(to, key, hash, [&](const elements& fields) {
    const auto size = static_cast<std::size_t>(fields.size());
    if (is_map) {
      to.out.map(size);
    } else {
      to.out.array(size);
    }
    fields.walk([&](std::string_view name, std::string_view value) {
      if (has_names) to.out.bulk(name);
      if (has_values) to.out.bulk(value);
      return !to.out.is_full();
    });
  });
  if (is_present) return;
  if (is_map) {
    to.out.map(0);
  } else {
    to.out.array(0);
  }
}

}  // namespace

namespace commands {

void hset(session& to, arguments words) {
  if (words.size() % 2 != 0) return to.refuse_arity(to.running);
  to.out.integer(store_fields(to, words));
}

void hmset(session& to, arguments words) {
  if (words.size() % 2 != 0) return to.refuse_arity(to.running);
  store_fields(to, words);
  to.out.ok();
}

void hsetnx(session& to, arguments words) {
  bool is_stored = false;
  edit_elements(to, words[1], hash, [&](edited_elements& fields) {
    is_stored = !fields.has(words[2]);
    if (is_stored) fields.put(words[2], words[3]);
  });
  to.out.integer(is_stored ? 1 : 0);
}

void hget(session& to, arguments words) {
  bool is_present = false;
  read_elements(to, words[1], hash, [&](const elements& fields) {
    is_present = fields.read(words[2], [&](std::string_view value) { to.out.bulk(value); });
  });
  if (!is_present) to.out.null();
}

void hmget(session& to, arguments words) {
  const arguments names = words.subspan(2);
  to.out.array(names.size());
  const bool is_present = read_elements(to, words[1], hash, [&](const elements& fields) {
    for (const std::string_view name : names) {
      if (!fields.read(name, [&](std::string_view value) { to.out.bulk(value); })) to.out.null();
      if (to.out.is_full()) return;
    }
  });
  if (is_present) return;
  for (std::size_t i = 0; i < names.size(); ++i) to.out.null();
}

void hgetall(session& to, arguments words) { write_fields(to, words[1], true, true); }
void hkeys(session& to, arguments words) { write_fields(to, words[1], true, false); }
void hvals(session& to, arguments words) { write_fields(to, words[1], false, true); }
void hlen(session& to, arguments words) { write_size(to, words[1], hash); }

void hexists(session& to, arguments words) {
  bool is_present = false;
  read_elements(to, words[1], hash,
                [&](const elements& fields) { is_present = fields.has(words[2]); });
  to.out.integer(is_present ? 1 : 0);
}

void hstrlen(session& to, arguments words) {
  std::size_t size = 0;
  read_elements(to, words[1], hash, [&](const elements& fields) {
    fields.read(words[2], [&](std::string_view value) { size = value.size(); });
  });
  to.out.integer(static_cast<std::int64_t>(size));
}

void hdel(session& to, arguments words) { remove_elements(to, words, hash); }

void hincrby(session& to, arguments words) {
  const std::optional<std::int64_t> by = integer_of(words[3]);
  if (!by) return to.refuse_integer();
  std::int64_t sum = 0;
  edit_elements(to, words[1], hash, [&](edited_elements& fields) {
    const std::optional<std::string> old = value_of(fields, words[2]);
    const std::optional<std::int64_t> number = old ? integer_of(*old) : 0;
    if (!number) throw refusal("ERR hash value is not an integer");
    if (__builtin_add_overflow(*number, *by, &sum)) {
      throw refusal("ERR increment or decrement would overflow");
    }
    fields.put(words[2], std::to_string(sum));
  });
  to.out.integer(sum);
}

void hincrbyfloat(session& to, arguments words) {
  const std::optional<long double> by = float_of(words[3]);
  if (!by) return to.out.error("ERR value is not a valid float");
  if (std::isinf(*by)) return to.out.error("ERR value is NaN or Infinity");
  std::string sum;
  edit_elements(to, words[1], hash, [&](edited_elements& fields) {
    const std::optional<std::string> old = value_of(fields, words[2]);
    const std::optional<long double> number = old ? float_of(*old) : 0.0L;
    if (!number) throw refusal("ERR hash value is not a float");
    const long double added = *number + *by;
    if (std::isnan(added) || std::isinf(added)) {
      throw refusal("ERR increment would produce NaN or Infinity");
    }
    sum = text_of(added);
    fields.put(words[2], sum);
  });
  to.out.bulk(sum);
}

void hscan(session& to, arguments words) {
  scan_elements(to, words, hash, [&](std::string_view value) { to.out.bulk(value); });
}

void hrandfield(session& to, arguments words) {
  const bool has_values = words.size() == 4;
  const auto write = [&](std::string_view value) { to.out.bulk(value); };
  random_reply reply(to, hash, has_values, write);
  if (words.size() == 2) return reply.write_one(words[1]);
  const std::optional<std::int64_t> count = random_count_of(to, words);
  if (count) reply.write_several(words[1], *count);
}

}  // namespace commands

}  // namespace outlast::server::resp
