// Unions, intersections and differences of sorted sets.
#include <src/server/resp/changes.hpp>
#include <src/server/resp/commands.hpp>
#include <src/server/resp/elements.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/refusal.hpp>
#include <src/server/resp/scores.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::server::resp {
namespace {

using score_map = std::map<std::string, double, std::less<>>;

enum class operation { union_of, intersection, difference };
enum class aggregation { sum, least, greatest };

/// A key whose members take part, with its weight.
struct score_source {
  std::string_view key;
  std::size_t number;  ///< place among the keys
  double weight = 1;
  std::uint64_t size = 0;
};

struct algebra_request {
  operation what = operation::union_of;
  std::vector<score_source> sources;
  aggregation how = aggregation::sum;
  bool has_scores = false;
  std::uint64_t limit = 0;  ///< of ZINTERCARD; 0: none
};

double without_nan(double score) noexcept { return std::isnan(score) ? 0 : score; }

double aggregate(aggregation how, double one, double other) noexcept {
  switch (how) {
    case aggregation::sum: return without_nan(one + other);
    case aggregation::least: return std::min(one, other);
    case aggregation::greatest: return std::max(one, other);
  }
  return one;
}

/// Calls `work` with the elements of a sorted set or a set. Returns false if the key is absent.
bool read_scored(session& to, std::string_view key,
                 base::function_ref<void(const elements&, bool is_set)> work) {
  return to.look_parts(key, to.how(), [&](const item& seen, item_parts& parts) {
    const bool is_set = seen.type == static_cast<std::uint8_t>(item_type::set);
    work(elements(seen, parts, is_set ? item_type::set : item_type::sorted_set), is_set);
  });
}

double score_of_value(bool is_set, std::string_view value) {
  return is_set ? 1 : stored_score(value);
}

void visit_scored(session& to, std::string_view key, score_visitor visit) {
  read_scored(to, key, [&](const elements& members, bool is_set) {
    members.walk([&](std::string_view name, std::string_view value) {
      return visit(name, score_of_value(is_set, value));
    });
  });
}

/// The result of an operation, which is built from one source after the other.
class algebra {
 public:
  algebra(session& to, const algebra_request& wanted) : to_(to), wanted_(wanted), budget_(to) {}

  score_map compute() {
    std::vector<score_source> sources = wanted_.sources;
    // The order of the sums is that of Redis, from the smallest source to the largest.
    if (wanted_.what != operation::difference) {
      std::ranges::sort(sources, {},
                        [](const score_source& each) { return std::pair(each.size, each.number); });
    }
    bool is_first = true;
    for (const score_source& each : sources) {
      if (is_first || wanted_.what == operation::union_of) {
        add(each);
      } else if (wanted_.what == operation::intersection) {
        keep_common(each);
      } else {
        remove(each);
      }
      is_first = false;
      if (found_.empty() && wanted_.what != operation::union_of) break;
    }
    return std::move(found_);
  }

 private:
  void add(const score_source& from) {
    visit_scored(to_, from.key, [&](std::string_view member, double score) {
      const double weighted = without_nan(from.weight * score);
      const auto known = found_.find(member);
      if (known != found_.end()) {
        known->second = aggregate(wanted_.how, known->second, weighted);
        return true;
      }
      budget_.take(sizeof(score_map::value_type) + member.size());
      found_.emplace(member, weighted);
      return true;
    });
  }
  void keep_common(const score_source& with) {
    const bool is_present = read_scored(to_, with.key, [&](const elements& members, bool is_set) {
      for (auto at = found_.begin(); at != found_.end();) {
        const bool is_common = members.read(at->first, [&](std::string_view value) {
          // A product of 0 and infinity makes a sum 0, and is no minimum or maximum, as in Redis.
          const double weighted = with.weight * score_of_value(is_set, value);
          at->second = aggregate(wanted_.how, at->second, weighted);
        });
        at = is_common ? std::next(at) : found_.erase(at);
      }
    });
    if (!is_present) found_.clear();
  }
  void remove(const score_source& with) {
    read_scored(to_, with.key, [&](const elements& members, bool) {
      std::erase_if(found_,
                    [&](const score_map::value_type& each) { return members.has(each.first); });
    });
  }

  session& to_;
  const algebra_request& wanted_;
  copy_budget budget_;
  score_map found_;
};

std::vector<scored_member> in_order(score_map&& members) {
  std::vector<scored_member> sorted;
  sorted.reserve(members.size());
  while (!members.empty()) {
    auto taken = members.extract(members.begin());
    sorted.push_back({std::move(taken.key()), taken.mapped()});
  }
  std::ranges::sort(sorted, {}, [](const scored_member& each) {
    return std::pair<double, std::string_view>(each.score, each.member);
  });
  return sorted;
}

/// Reads the keys. Adds an error and returns nothing if their number is wrong.
std::optional<algebra_request> sources_of(session& to, arguments words, operation what,
                                          std::size_t number_at) {
  const std::optional<std::int64_t> number = integer_of(words[number_at]);
  if (!number) {
    to.refuse_integer();
    return std::nullopt;
  }
  if (*number < 1) {
    to.out.error(std::string("ERR at least 1 input key is needed for '")
                     .append(to.running)
                     .append("' command"));
    return std::nullopt;
  }
  if (*number > static_cast<std::int64_t>(words.size() - number_at - 1)) {
    to.refuse_syntax();
    return std::nullopt;
  }
  algebra_request found;
  found.what = what;
  for (const std::string_view key :
       words.subspan(number_at + 1, static_cast<std::size_t>(*number))) {
    found.sources.push_back({key, found.sources.size()});
  }
  return found;
}

/// Requires that no key has another type, and notes the sizes.
void check_sources(session& to, algebra_request& wanted) {
  for (score_source& each : wanted.sources) {
    read_scored(to, each.key, [&](const elements& members, bool) { each.size = members.size(); });
  }
}

void take_weights(arguments words, std::size_t& at, algebra_request& into) {
  for (score_source& each : into.sources) {
    const std::optional<double> weight = double_of(words[++at]);
    if (!weight) throw refusal("ERR weight value is not a float");
    each.weight = *weight;
  }
}

void take_aggregation(std::string_view word, algebra_request& into) {
  if (is_word(word, "sum")) {
    into.how = aggregation::sum;
  } else if (is_word(word, "min")) {
    into.how = aggregation::least;
  } else if (is_word(word, "max")) {
    into.how = aggregation::greatest;
  } else {
    throw refusal("ERR syntax error");
  }
}

/// Reads the options of a command that returns or stores members.
void take_options(arguments words, std::size_t at, algebra_request& into, bool is_stored) {
  const bool is_difference = into.what == operation::difference;
  for (; at < words.size(); ++at) {
    const std::size_t left = words.size() - at - 1;
    if (!is_difference && is_word(words[at], "weights") && left >= into.sources.size()) {
      take_weights(words, at, into);
    } else if (!is_difference && is_word(words[at], "aggregate") && left >= 1) {
      take_aggregation(words[++at], into);
    } else if (!is_stored && is_word(words[at], "withscores")) {
      into.has_scores = true;
    } else {
      throw refusal("ERR syntax error");
    }
  }
}

void write_result(session& to, arguments words, operation what) {
  std::optional<algebra_request> wanted = sources_of(to, words, what, 1);
  if (!wanted) return;
  score_map found;
  to.together([&] {
    check_sources(to, *wanted);
    take_options(words, 2 + wanted->sources.size(), *wanted, false);
    found = algebra(to, *wanted).compute();
  });
  write_members(to, in_order(std::move(found)), wanted->has_scores);
}

void store_result(session& to, arguments words, operation what) {
  std::optional<algebra_request> wanted = sources_of(to, words, what, 2);
  if (!wanted) return;
  std::vector<scored_member> found;
  to.together([&] {
    check_sources(to, *wanted);
    take_options(words, 3 + wanted->sources.size(), *wanted, true);
    found = in_order(algebra(to, *wanted).compute());
    store_members(to, words[1], found);
  });
  to.out.integer(static_cast<std::int64_t>(found.size()));
}

/// Reads the option of ZINTERCARD.
void take_limit(arguments words, std::size_t at, algebra_request& into) {
  for (; at < words.size(); at += 2) {
    if (!is_word(words[at], "limit") || at + 1 == words.size()) {
      throw refusal("ERR syntax error");
    }
    const std::optional<std::int64_t> limit = integer_of(words[at + 1]);
    if (!limit || *limit < 0) throw refusal("ERR LIMIT can't be negative");
    into.limit = static_cast<std::uint64_t>(*limit);
  }
}

}  // namespace

namespace commands {

void zunion(session& to, arguments words) { write_result(to, words, operation::union_of); }
void zinter(session& to, arguments words) { write_result(to, words, operation::intersection); }
void zdiff(session& to, arguments words) { write_result(to, words, operation::difference); }
void zunionstore(session& to, arguments words) { store_result(to, words, operation::union_of); }
void zinterstore(session& to, arguments words) { store_result(to, words, operation::intersection); }
void zdiffstore(session& to, arguments words) { store_result(to, words, operation::difference); }

void zintercard(session& to, arguments words) {
  std::optional<algebra_request> wanted = sources_of(to, words, operation::intersection, 1);
  if (!wanted) return;
  std::uint64_t count = 0;
  to.together([&] {
    check_sources(to, *wanted);
    take_limit(words, 2 + wanted->sources.size(), *wanted);
    count = algebra(to, *wanted).compute().size();
  });
  if (wanted->limit != 0) count = std::min(count, wanted->limit);
  to.out.integer(static_cast<std::int64_t>(count));
}

}  // namespace commands

}  // namespace outlast::server::resp
