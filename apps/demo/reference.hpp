// The judge: what the map must hold, computed without the map.
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

/// What a comparison of the map with the exact count found.
struct check_result {
  std::uint64_t lost = 0;   ///< acknowledged updates that the map does not hold
  std::uint64_t wrong = 0;  ///< entries that no order of events explains
  std::string example;      ///< the first contradiction, in words

  void add(const check_result& other) {
    lost += other.lost;
    wrong += other.wrong;
    if (example.empty()) example = other.example;
  }
  [[nodiscard]] bool clean() const noexcept { return lost == 0 && wrong == 0; }
};

/// The exact count of each word up to the positions that were acknowledged, kept in ordinary memory
/// by the parent, which is never killed.
///
/// The stream is the text again and again; the word at offset o of pass p has position
/// p * size + o + 1. Each word belongs to one thread, and each thread makes its updates one after
/// the other: so at any kill, of the words behind its acknowledgement at most the very next is in
/// the map.
/// Not thread-safe.
class reference {
 public:
  /// Refers to `text`, which must outlive it.
  reference(std::string_view text, std::uint32_t threads);

  [[nodiscard]] std::size_t distinct_words() const noexcept { return names_.size(); }
  [[nodiscard]] std::uint64_t words_per_pass() const noexcept { return words_per_pass_; }
  /// Words acknowledged altogether.
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }

  /// Starts again, for another map.
  void reset();
  /// `thread` has acknowledged everything that it owns up to `position`.
  void advance(std::uint32_t thread, std::uint64_t position);
  /// The last position that may be in the map: each thread may have made one update more than it
  /// has acknowledged.
  [[nodiscard]] std::uint64_t furthest_in_flight() const;
  /// Compares what a map holds after a kill with what was acknowledged. Exact: see above.
  [[nodiscard]] check_result check(std::span<const survivor> survivors) const;

 private:
  struct token {
    std::uint32_t offset;
    std::uint32_t word;
  };
  struct partition {
    std::vector<token> tokens;  // of one pass
    std::uint64_t pass = 0;     // the next token that is not acknowledged yet:
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

/// Compares a finished map with a count of `passes` passes over `text` that shares nothing with the
/// map, its keys, its scanner or the running judge: a loop, std::string and std::unordered_map.
[[nodiscard]] check_result compare_with_exact_count(std::string_view text, std::uint64_t passes,
                                                    std::span<const survivor> survivors);

}  // namespace outlast::apps::demo
