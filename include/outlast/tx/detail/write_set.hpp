// What a transaction has written: its lines, and what they held before.
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

/// The lines that a batch of operations has written in one replica, each once, and for each
/// operation what they held before it.
///
/// Lines, not stores: whatever the types and lengths of what was stored, a line that is copied as a
/// whole is right; stores to one line are aggregated, and so are its flushes.
/// Thread-safety: used by one thread at a time.
class write_set {
 public:
  /// Images: besides, what each line held before the batch, and what it holds after it.
  enum class keeps { lines, images };

  /// Of sets with room for more lines no memory is kept for the next batch: about 1 MiB.
  static constexpr std::size_t max_kept_lines = 8192;

  /// What it takes is counted in `count`, if that is given and outlives it.
  explicit write_set(keeps kept = keeps::lines, byte_count* count = nullptr,
                     std::size_t max_kept = max_kept_lines) noexcept
      : max_kept_(max_kept),
        keeps_images_(kept == keeps::images),
        lines_(counted_allocator<entry>(count)),
        befores_(counted_allocator<line_image>(count)),
        afters_(counted_allocator<line_image>(count)),
        slots_(counted_allocator<std::uint32_t>(count)),
        journal_(counted_allocator<saved_line>(count)) {}

  /// Forgets everything; keeps the memory, unless it is large.
  void clear() noexcept {
    if (is_large()) [[unlikely]]
      return give_everything_back();
    if (lines_.size() * 8 < slots_.size()) {
      // The newest first: the way to a line's place leads over those of older ones.
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

  /// For how many lines it has room.
  [[nodiscard]] std::size_t room() const noexcept { return lines_.capacity(); }
  [[nodiscard]] bool is_large() const noexcept { return room() > max_kept_; }
  /// Of a large set that was sealed: nothing will be undone, and no line be added. Others may read
  /// its lines and what they hold after it meanwhile.
  [[gnu::cold, gnu::noinline]] void keep_only_afters() noexcept {
    give_back(befores_);
    give_back(slots_);
    give_back(journal_);
  }

  /// What is written from here on can be undone alone.
  void begin_operation() noexcept {
    journal_.clear();
    first_of_operation_ = lines_.size();
    ++operation_;
  }

  /// `line`, which holds `content`, is about to be written. Throws std::bad_alloc without effect.
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

  /// Adds `line` without its content: nothing of it can be undone. Throws std::bad_alloc without
  /// effect.
  void add(line_number line) {
    if (slots_.size() < 2 * (lines_.size() + 1)) grow();
    const std::size_t place = place_of(line);
    if (slots_[place] != 0) return;
    lines_.push_back({line, operation_});
    slots_[place] = static_cast<std::uint32_t>(lines_.size());
  }

  /// The batch is over: `content_of(line)` is what its lines hold after it.
  template <class ContentOf>
  void seal(ContentOf&& content_of) noexcept {
    for (std::size_t i = 0; i < befores_.size(); ++i) {
      afters_.push_back(image_at(content_of(lines_[i].line)));
    }
  }
  /// Calls `visit(line, image)` with what each line held before the batch.
  template <class Visit>
  void for_each_before(Visit&& visit) const {
    for (std::size_t i = 0; i < befores_.size(); ++i) visit(lines_[i].line, befores_[i]);
  }
  /// Calls `visit(line, image)` with what each line holds after the batch; it was sealed. A few
  /// calls before, `expect(line)`.
  template <class Expect, class Visit>
  void for_each_after(Expect&& expect, Visit&& visit) const {
    constexpr std::size_t ahead = 8;
    for (std::size_t i = 0; i < std::min(ahead, afters_.size()); ++i) expect(lines_[i].line);
    for (std::size_t i = 0; i < afters_.size(); ++i) {
      if (i + ahead < afters_.size()) expect(lines_[i + ahead].line);
      visit(lines_[i].line, afters_[i]);
    }
  }

  /// The same images, in the order of for_each().
  [[nodiscard]] std::span<const line_image> afters() const noexcept { return afters_; }

  /// Calls `restore(line, content)` for what the current operation has changed.
  template <class Restore>
  void undo_operation(Restore&& restore) {
    for (const saved_line& each : journal_) restore(each.line, each.content);
    for (std::size_t i = first_of_operation_; i < befores_.size(); ++i) {
      restore(lines_[i].line, befores_[i]);
    }
    begin_operation();
  }

  /// Calls `visit(line)` for each line that the current operation has written, of a set that keeps
  /// no images.
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
    std::uint64_t operation;  // that has saved what the line held before it
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

  /// So that neither touch() nor seal() can fail half way.
  void reserve_images() {
    const std::size_t more = 2 * befores_.size() + 8;
    afters_.reserve(more);
    befores_.reserve(more);
  }

  /// Where the line's number stands, or would.
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
  counted_vector<line_image> befores_;   // of lines_, if it keeps them
  counted_vector<line_image> afters_;    // the same, once it is sealed
  counted_vector<std::uint32_t> slots_;  // numbers of lines_, from 1; 0: free
  /// Of the current operation: what lines held before it, but for those from first_of_operation_
  /// whose images say so.
  counted_vector<saved_line> journal_;
  std::size_t first_of_operation_ = 0;
  std::uint64_t operation_ = 1;
};

}  // namespace outlast::tx::detail
