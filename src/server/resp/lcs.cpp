// LCS: the longest common subsequence of two values.
#include <src/server/resp/commands.hpp>
#include <src/server/resp/error_texts.hpp>
#include <src/server/resp/refusal.hpp>
#include <src/server/resp/session.hpp>
#include <src/server/resp/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::server::resp {
namespace {

/// The options of LCS.
struct lcs_options {
  bool returns_length = false;
  bool returns_ranges = false;
  bool with_length = false;
  std::int64_t min_length = 0;
};

/// A run of characters that are adjacent in both values. Both ends are included.
struct common_range {
  std::size_t first_begin;
  std::size_t first_end;
  std::size_t second_begin;
  std::size_t second_end;

  [[nodiscard]] std::size_t size() const noexcept { return first_end - first_begin + 1; }
};

/// The lengths of the common subsequences of all pairs of prefixes.
class length_table {
 public:
  length_table(std::string_view first, std::string_view second)
      : first_(first), second_(second), row_(second.size() + 1) {
    lengths_.resize((first.size() + 1) * row_);
    for (std::size_t i = 1; i <= first.size(); ++i) {
      for (std::size_t k = 1; k <= second.size(); ++k) {
        lengths_[i * row_ + k] = first[i - 1] == second[k - 1]
                                     ? at(i - 1, k - 1) + 1
                                     : std::max(at(i - 1, k), at(i, k - 1));
      }
    }
  }

  [[nodiscard]] std::size_t length() const { return at(first_.size(), second_.size()); }

  /// Returns the runs of a longest subsequence, the last one first.
  [[nodiscard]] std::vector<common_range> ranges() const {
    std::vector<common_range> found;
    std::size_t i = first_.size();
    std::size_t k = second_.size();
    while (i > 0 && k > 0) {
      if (first_[i - 1] == second_[k - 1]) {
        --i;
        --k;
        const bool is_adjacent = !found.empty() && found.back().first_begin == i + 1 &&
                                 found.back().second_begin == k + 1;
        if (is_adjacent) {
          found.back().first_begin = i;
          found.back().second_begin = k;
        } else {
          found.push_back({i, i, k, k});
        }
      } else if (at(i - 1, k) > at(i, k - 1)) {
        --i;
      } else {
        --k;
      }
    }
    return found;
  }

 private:
  [[nodiscard]] std::uint32_t at(std::size_t i, std::size_t k) const {
    return lengths_[i * row_ + k];
  }

  std::string_view first_;
  std::string_view second_;
  std::size_t row_;
  std::vector<std::uint32_t> lengths_;
};

/// Reads the options. Adds an error and returns nothing if they are wrong.
std::optional<lcs_options> lcs_options_of(session& to, arguments words) {
  lcs_options found;
  for (std::size_t at = 3; at < words.size(); ++at) {
    if (is_word(words[at], "len")) {
      found.returns_length = true;
    } else if (is_word(words[at], "idx")) {
      found.returns_ranges = true;
    } else if (is_word(words[at], "withmatchlen")) {
      found.with_length = true;
    } else if (is_word(words[at], "minmatchlen") && at + 1 < words.size()) {
      const std::optional<std::int64_t> least = integer_of(words[++at]);
      if (!least) {
        to.refuse_integer();
        return std::nullopt;
      }
      found.min_length = std::max<std::int64_t>(*least, 0);
    } else {
      to.refuse_syntax();
      return std::nullopt;
    }
  }
  if (found.returns_length && found.returns_ranges) {
    to.out.error(error_texts::lcs_with_both);
    return std::nullopt;
  }
  return found;
}

void write_ranges(session& to, const length_table& lengths, const lcs_options& chosen) {
  std::vector<common_range> found = lengths.ranges();
  std::erase_if(found, [&](const common_range& each) {
    return each.size() < static_cast<std::uint64_t>(chosen.min_length);
  });
  const auto write_pair = [&](std::size_t begin, std::size_t end) {
    to.out.array(2);
    to.out.integer(static_cast<std::int64_t>(begin));
    to.out.integer(static_cast<std::int64_t>(end));
  };
  to.out.map(2);
  to.out.bulk("matches");
  to.out.array(found.size());
  for (const common_range& each : found) {
    to.out.array(chosen.with_length ? 3 : 2);
    write_pair(each.first_begin, each.first_end);
    write_pair(each.second_begin, each.second_end);
    if (chosen.with_length) to.out.integer(static_cast<std::int64_t>(each.size()));
  }
  to.out.bulk("len");
  to.out.integer(static_cast<std::int64_t>(lengths.length()));
}

std::string text_of(std::string_view first, const std::vector<common_range>& ranges) {
  std::string text;
  for (auto each = ranges.rbegin(); each != ranges.rend(); ++each) {
    text.append(first.substr(each->first_begin, each->size()));
  }
  return text;
}

}  // namespace

namespace commands {

void lcs(session& to, arguments words) {
  const std::size_t cells = to.options().limits.lcs_bytes / sizeof(std::uint32_t);
  std::string first;
  std::string second;
  bool has_room = true;
  // The types of the keys are checked before the options, as in Redis.
  to.together([&] {
    const auto copy_to = [&](std::string& target) {
      return [&](const item& found) {
        if (found.type != static_cast<std::uint8_t>(item_type::string)) {
          throw refusal(error_texts::lcs_of_others);
        }
        has_room = has_room && found.value.size() < cells;
        if (has_room) target = found.value;
      };
    };
    to.look(words[1], copy_to(first));
    to.look(words[2], copy_to(second));
  });
  const std::optional<lcs_options> chosen = lcs_options_of(to, words);
  if (!chosen) return;
  if (!has_room || first.size() + 1 > cells / (second.size() + 1)) {
    return to.out.error(error_texts::lcs_too_large);
  }
  const length_table lengths(first, second);
  if (chosen->returns_ranges) return write_ranges(to, lengths, *chosen);
  if (chosen->returns_length) {
    return to.out.integer(static_cast<std::int64_t>(lengths.length()));
  }
  to.out.bulk(text_of(first, lengths.ranges()));
}

}  // namespace commands

}  // namespace outlast::server::resp
