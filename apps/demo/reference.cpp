// Checks the demo's map against the words that were acknowledged.
#include <apps/demo/reference.hpp>

#include <algorithm>
#include <cctype>

namespace outlast::apps::demo {
namespace {

std::string in_quotes(std::string_view word) {
  std::string text(1, '\'');
  text.append(word).push_back('\'');
  return text;
}

std::string describe(std::string_view word, const occurrences& found, const occurrences& expected) {
  return in_quotes(word) + ": the map has the count " + std::to_string(found.count) + ", last at " +
         std::to_string(found.last) + "; the acknowledged count is " +
         std::to_string(expected.count) + ", last at " + std::to_string(expected.last);
}

/// Returns the number of missing updates, in the arithmetic of a 24-bit counter.
std::uint64_t missing(const occurrences& found, const occurrences& expected) {
  const std::uint64_t difference = (expected.count - found.count) & occurrences::count_mask;
  return difference <= occurrences::count_mask / 2 ? difference : 0;
}

/// Counts a contradiction as lost updates if the map has fewer than expected, otherwise as wrong.
void file_contradiction(check_result& result, const occurrences& found,
                        const occurrences& expected) {
  const std::uint64_t lost = missing(found, expected);
  result.lost += lost;
  if (lost == 0) ++result.wrong;
}

struct counted {
  std::uint64_t times = 0;
  std::uint64_t last = 0;
};
using exact_count = std::unordered_map<std::string, counted>;

exact_count count_exactly(std::string_view text) {
  exact_count exact;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool letter = i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) != 0;
    if (letter) word += text[i];
    if (letter || word.empty()) continue;
    const std::size_t offset = i - word.size();
    if (word.size() > longest_word) word.resize(longest_word);
    counted& entry = exact[word];
    ++entry.times;
    entry.last = offset;
    word.clear();
  }
  return exact;
}

}  // namespace

reference::reference(std::string_view text, std::uint32_t threads)
    : text_(text), partitions_(threads) {
  word_scanner scanner(text);
  while (scanner.next()) {
    const auto [entry, fresh] =
        numbers_.try_emplace(scanner.word(), static_cast<std::uint32_t>(names_.size()));
    if (fresh) {
      names_.push_back(scanner.word());
      owners_.push_back(owner_of(word_key(scanner.word()), threads));
    }
    const std::uint32_t word = entry->second;
    partitions_[owners_[word]].tokens.push_back(
        {static_cast<std::uint32_t>(scanner.offset()), word});
    ++words_per_pass_;
  }
  reset();
}

void reference::reset() {
  expected_.assign(names_.size(), {});
  acknowledged_ = 0;
  for (partition& part : partitions_) part.pass = part.next = 0;
}

void reference::advance(std::uint32_t thread, std::uint64_t position) {
  partition& part = partitions_[thread];
  if (part.tokens.empty()) return;
  while (part.position(text_.size()) <= position) {
    occurrences& word = expected_[part.tokens[part.next].word];
    word = word.followed_by(part.position(text_.size()));
    ++acknowledged_;
    if (++part.next == part.tokens.size()) {
      part.next = 0;
      ++part.pass;
    }
  }
}

std::uint64_t reference::furthest_in_flight() const {
  std::uint64_t furthest = 0;
  for (const partition& part : partitions_) {
    if (!part.tokens.empty()) furthest = std::max(furthest, part.position(text_.size()));
  }
  return furthest;
}

bool reference::is_in_flight(std::uint32_t word, const occurrences& found) const {
  const partition& part = partitions_[owners_[word]];
  return part.tokens[part.next].word == word &&
         found == expected_[word].followed_by(part.position(text_.size()));
}

void reference::complain(check_result& result, std::uint32_t word, const occurrences& found) const {
  file_contradiction(result, found, expected_[word]);
  if (result.example.empty()) result.example = describe(names_[word], found, expected_[word]);
}

check_result reference::check(std::span<const survivor> survivors) const {
  check_result result;
  std::vector<bool> seen(names_.size());
  for (const survivor& entry : survivors) {
    const auto number = numbers_.find(entry.key.view());
    if (number == numbers_.end() || seen[number->second]) {
      ++result.wrong;
      if (result.example.empty()) {
        result.example = in_quotes(entry.key.view()) + " is in the map " +
                         (number == numbers_.end() ? "but in no text" : "twice");
      }
      continue;
    }
    const std::uint32_t word = number->second;
    seen[word] = true;
    const occurrences found = occurrences::unpack(entry.packed);
    if (found != expected_[word] && !is_in_flight(word, found)) complain(result, word, found);
  }
  for (std::uint32_t word = 0; word < names_.size(); ++word) {
    if (!seen[word] && expected_[word] != occurrences{}) complain(result, word, {});
  }
  return result;
}

check_result compare_with_exact_count(std::string_view text, std::uint64_t passes,
                                      std::span<const survivor> survivors) {
  exact_count exact = count_exactly(text);
  check_result result;
  for (const survivor& entry : survivors) {
    const occurrences found = occurrences::unpack(entry.packed);
    occurrences expected;
    // The entry is removed, so that a second entry of the same word is detected.
    if (const auto known = exact.extract(std::string(entry.key.view()))) {
      expected.count = known.mapped().times * passes & occurrences::count_mask;
      expected.last = (passes - 1) * text.size() + known.mapped().last + 1;
    }
    if (found == expected) continue;
    file_contradiction(result, found, expected);
    if (result.example.empty()) result.example = describe(entry.key.view(), found, expected);
  }
  for (const auto& [word, expected] : exact) {
    result.lost += expected.times * passes;
    if (result.example.empty()) result.example = in_quotes(word) + " is missing in the map";
  }
  return result;
}

}  // namespace outlast::apps::demo
