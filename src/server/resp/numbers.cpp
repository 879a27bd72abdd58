// Commands that count.
#include <src/server/resp/changes.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace outlast::server::resp {
namespace {

void add_to_number(session& to, std::string_view key, std::int64_t by) {
  enum class outcome { counted, no_integer, overflow };
  outcome result = outcome::counted;
  std::int64_t sum = 0;
  std::array<char, 24> digits;
  to.change_string(key, [&](const item* old) {
    const std::optional<std::int64_t> number = old != nullptr ? integer_of(old->value) : 0;
    if (!number) {
      result = outcome::no_integer;
      return nothing();
    }
    if (__builtin_add_overflow(*number, by, &sum)) {
      result = outcome::overflow;
      return nothing();
    }
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), sum).ptr;
    return revalued(old, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  });
  switch (result) {
    case outcome::counted: return to.out.integer(sum);
    case outcome::no_integer: return to.refuse_integer();
    case outcome::overflow: return to.out.error("ERR increment or decrement would overflow");
  }
}

}  // namespace

namespace commands {

void incr(session& to, arguments words) { add_to_number(to, words[1], 1); }

void decr(session& to, arguments words) { add_to_number(to, words[1], -1); }

void incrby(session& to, arguments words) {
  const std::optional<std::int64_t> by = integer_of(words[2]);
  if (!by) return to.refuse_integer();
  add_to_number(to, words[1], *by);
}

void decrby(session& to, arguments words) {
  const std::optional<std::int64_t> by = integer_of(words[2]);
  if (!by) return to.refuse_integer();
  if (*by == std::numeric_limits<std::int64_t>::min()) {
    return to.out.error("ERR decrement would overflow");
  }
  add_to_number(to, words[1], -*by);
}

void incrbyfloat(session& to, arguments words) {
  const std::optional<long double> by = float_of(words[2]);
  std::string_view failure;
  std::string sum;
  to.change_string(words[1], [&](const item* old) {
    const std::optional<long double> number = old != nullptr ? float_of(old->value) : 0.0L;
    if (!number || !by) {
      failure = "ERR value is not a valid float";
      return nothing();
    }
    const long double added = *number + *by;
    if (std::isnan(added) || std::isinf(added)) {
      failure = "ERR increment would produce NaN or Infinity";
      return nothing();
    }
    sum = text_of(added);
    return revalued(old, sum);
  });
  if (!failure.empty()) return to.out.error(failure);
  to.out.bulk(sum);
}

}  // namespace commands

}  // namespace outlast::server::resp
