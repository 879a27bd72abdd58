// The checker: computes the expected contents of the map without the map.
#pragma once

#include <apps/demo/exchange.hpp>
#include <apps/demo/words.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace outlast::apps::demo {

/// The result of a comparison of the map with the expected contents.
struct check_result {
  std::uint64_t lost = 0;   ///< acknowledged updates that are not in the map
  std::uint64_t wrong = 0;  ///< entries that no order of events explains
  std::string example;      ///< a description of the first contradiction

  void add(const check_result& other) {
    lost += other.lost;
    wrong += other.wrong;
    if (example.empty()) example = other.example;
  }
  [[nodiscard]] bool clean() const noexcept { return lost == 0 && wrong == 0; }
};

/// The exact count of each word up to the acknowledged positions. The parent, which is never
/// killed, keeps it in ordinary memory.
/// The stream repeats the text; the word at offset o of pass p has position p * size + o + 1. Each
/// word belongs to one thread, and each thread makes its updates one at a time. Therefore, after a
/// kill, at most one word after a thread's acknowledgement is in the map. Not thread-safe.
class reference {
 public:
  /// Requires: `text` outlives the object.
  reference(std::string_view text, std::uint32_t threads);

  [[nodiscard]] std::size_t distinct_words() const noexcept { return names_.size(); }
  [[nodiscard]] std::uint64_t words_per_pass() const noexcept { return words_per_pass_; }
  /// Returns the number of acknowledged words.
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }

  /// Resets the state for another map.
  void reset();
  /// Records that `thread` has acknowledged all its words up to `position`.
  void advance(std::uint32_t thread, std::uint64_t position);
  /// Returns the last position that may be in the map: each thread may have made one update more
  /// than it has acknowledged.
  [[nodiscard]] std::uint64_t furthest_in_flight() const;
  /// Compares the map after a kill with the acknowledged words. The comparison is exact; see above.
  [[nodiscard]] check_result check(std::span<const survivor> survivors) const;

 private:
  struct token {
    std::uint32_t offset;
    std::uint32_t word;
  };
  struct partition {
    std::vector<token> tokens;  // the tokens of one pass
    std::uint64_t pass = 0;     // the position of the next token that is not acknowledged
    std::size_t next = 0;

    [[nodiscard]] std::uint64_t position(std::uint64_t size) const {
      return pass * size + tokens[next].offset + 1;
    }
  };

  [[nodiscard]] bool is_in_flight(std::uint32_t word, const occurrences& found) const;
  void complain(check_result& result, std::uint32_t word, const occurrences& found) const;

  std::string_view text_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::vector<std::string_view> names_;
  std::vector<std::uint32_t> owners_;
  std::vector<occurrences> expected_;
  std::vector<partition> partitions_;
  std::uint64_t words_per_pass_ = 0;
  std::uint64_t acknowledged_ = 0;
};

/// Compares a finished map with a count of `passes` passes over `text`. The count shares no code
/// with the map, its keys, its scanner or `reference`: it uses a loop, std::string and
/// std::unordered_map.
[[nodiscard]] check_result compare_with_exact_count(std::string_view text, std::uint64_t passes,
                                                    std::span<const survivor> survivors);

}  // namespace outlast::apps::demo
