// The write set of a batch: the lines that it wrote, with their contents before and after.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/hash.hpp>
#include <outlast/tx/detail/counted_memory.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace outlast::tx::detail {

/// A line of a replica, counted from its beginning.
using line_number = std::uint64_t;

/// The content of a line.
using line_image = std::array<std::byte, base::cache_line_size>;

/// The lines that a batch of operations has written in one replica, each once, and their contents
/// before each operation: an undo log.
///
/// It logs lines, not stores. A copy of a whole line is right for stores of any type and size, and
/// several stores to a line need one copy and one flush.
/// Thread-safety: used by one thread at a time.
class write_set {
 public:
  /// `images`: also the content of each line before the batch, and after it.
  enum class keeps { lines, images };

  /// The maximum room for which the memory is kept for the next batch: about 1 MiB.
  static constexpr std::size_t max_kept_lines = 8192;

  /// Counts its memory in `count`, if it is not nullptr. `count` must outlive the set.
  explicit write_set(keeps kept = keeps::lines, byte_count* count = nullptr,
                     std::size_t max_kept = max_kept_lines) noexcept
      : max_kept_(max_kept),
        keeps_images_(kept == keeps::images),
        lines_(counted_allocator<entry>(count)),
        befores_(counted_allocator<line_image>(count)),
        afters_(counted_allocator<line_image>(count)),
        slots_(counted_allocator<std::uint32_t>(count)),
        journal_(counted_allocator<saved_line>(count)) {}

  /// Removes all lines. Keeps the memory, unless that is large.
  void clear() noexcept {
    if (is_large()) [[unlikely]]
      return give_everything_back();
    if (lines_.size() * 8 < slots_.size()) {
      // The newest first: probing for a line passes the slots of older ones.
      for (auto each = lines_.rbegin(); each != lines_.rend(); ++each) {
        slots_[place_of(each->line)] = 0;
      }
    } else {
      std::fill(slots_.begin(), slots_.end(), 0);
    }
    lines_.clear();
    befores_.clear();
    afters_.clear();
    begin_operation();
  }

  /// Returns the number of lines for which there is memory.
  [[nodiscard]] std::size_t room() const noexcept { return lines_.capacity(); }
  [[nodiscard]] bool is_large() const noexcept { return room() > max_kept_; }
  /// Frees the memory for undo, of a large set that is sealed: no line is undone or added any more.
  /// Other threads may concurrently read its lines and their contents after the batch.
  [[gnu::cold, gnu::noinline]] void keep_only_afters() noexcept {
    give_back(befores_);
    give_back(slots_);
    give_back(journal_);
  }

  /// Begins an operation. Its writes can be undone separately.
  void begin_operation() noexcept {
    journal_.clear();
    first_of_operation_ = lines_.size();
    ++operation_;
  }

  /// Notes that `line`, with this `content`, is about to be written. Throws std::bad_alloc without
  /// effect.
  void touch(line_number line, const std::byte* content) {
    if (slots_.size() < 2 * (lines_.size() + 1)) grow();
    if (journal_.size() == journal_.capacity()) journal_.reserve(2 * journal_.size() + 8);
    if (keeps_images_ && befores_.size() == befores_.capacity()) reserve_images();
    const std::size_t place = place_of(line);
    if (slots_[place] == 0) {
      lines_.push_back({line, operation_});
      slots_[place] = static_cast<std::uint32_t>(lines_.size());
      if (keeps_images_) return befores_.push_back(image_at(content));
    } else {
      entry& known = lines_[slots_[place] - 1];
      if (known.operation == operation_) return;
      known.operation = operation_;
    }
    journal_.push_back({line, image_at(content)});
  }

  /// Adds `line` without its content: it cannot be undone. Throws std::bad_alloc without effect.
  void add(line_number line) {
    if (slots_.size() < 2 * (lines_.size() + 1)) grow();
    const std::size_t place = place_of(line);
    if (slots_[place] != 0) return;
    lines_.push_back({line, operation_});
    slots_[place] = static_cast<std::uint32_t>(lines_.size());
  }

  /// Ends the batch. content_of(line) returns the address of the content of a line after it.
  template <class ContentOf>
  void seal(ContentOf&& content_of) noexcept {
    for (std::size_t i = 0; i < befores_.size(); ++i) {
      afters_.push_back(image_at(content_of(lines_[i].line)));
    }
  }
  /// Calls `visit(line, image)` with the content of each line before the batch.
  template <class Visit>
  void for_each_before(Visit&& visit) const {
    for (std::size_t i = 0; i < befores_.size(); ++i) visit(lines_[i].line, befores_[i]);
  }
  /// Calls `visit(line, image)` with the content of each line after the batch, and `expect(line)` a
  /// few calls before, to prefetch. Requires: the set is sealed.
  template <class Expect, class Visit>
  void for_each_after(Expect&& expect, Visit&& visit) const {
    constexpr std::size_t ahead = 8;
    for (std::size_t i = 0; i < std::min(ahead, afters_.size()); ++i) expect(lines_[i].line);
    for (std::size_t i = 0; i < afters_.size(); ++i) {
      if (i + ahead < afters_.size()) expect(lines_[i + ahead].line);
      visit(lines_[i].line, afters_[i]);
    }
  }

  /// Returns the contents of the lines after the batch, in the order of for_each().
  [[nodiscard]] std::span<const line_image> afters() const noexcept { return afters_; }

  /// Undoes the current operation: calls `restore(line, content)` for each line that it wrote.
  template <class Restore>
  void undo_operation(Restore&& restore) {
    for (const saved_line& each : journal_) restore(each.line, each.content);
    for (std::size_t i = first_of_operation_; i < befores_.size(); ++i) {
      restore(lines_[i].line, befores_[i]);
    }
    begin_operation();
  }

  /// Calls `visit(line)` for each line that the current operation wrote. Requires: the set keeps no
  /// images.
  template <class Visit>
  void for_each_of_operation(Visit&& visit) const {
    for (const saved_line& each : journal_) visit(each.line);
  }

  [[nodiscard]] bool contains(line_number line) const noexcept {
    return !slots_.empty() && slots_[place_of(line)] != 0;
  }
  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return lines_.size(); }

  /// Calls `visit(line)` for each line.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const entry& each : lines_) visit(each.line);
  }

 private:
  struct entry {
    line_number line;
    std::uint64_t operation;  // that saved the content of the line before it
  };
  struct saved_line {
    line_number line;
    line_image content;
  };

  static line_image image_at(const std::byte* content) noexcept {
    line_image image;
    std::memcpy(image.data(), content, image.size());
    return image;
  }

  /// Reserves memory, so that touch() and seal() cannot fail half way.
  void reserve_images() {
    const std::size_t more = 2 * befores_.size() + 8;
    afters_.reserve(more);
    befores_.reserve(more);
  }

  /// Returns the slot of the line, or the free slot for it.
  [[nodiscard]] std::size_t place_of(line_number line) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = base::mix64(line) & mask;
    while (slots_[place] != 0 && lines_[slots_[place] - 1].line != line) place = (place + 1) & mask;
    return place;
  }

  [[gnu::cold, gnu::noinline]] void give_everything_back() noexcept {
    give_back(lines_);
    give_back(afters_);
    keep_only_afters();
    begin_operation();
  }

  void grow() {
    counted_vector<std::uint32_t> larger(std::max<std::size_t>(64, slots_.size() * 2), 0,
                                         slots_.get_allocator());
    slots_.swap(larger);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      slots_[place_of(lines_[i].line)] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::size_t max_kept_;
  bool keeps_images_;
  counted_vector<entry> lines_;
  counted_vector<line_image> befores_;   // of lines_, if the set keeps images
  counted_vector<line_image> afters_;    // of lines_, once the set is sealed
  counted_vector<std::uint32_t> slots_;  // numbers of lines_, from 1; 0: free
  /// The contents of lines before the current operation, except for lines from first_of_operation_
  /// on, which are in befores_.
  counted_vector<saved_line> journal_;
  std::size_t first_of_operation_ = 0;
  std::uint64_t operation_ = 1;
};

}  // namespace outlast::tx::detail
