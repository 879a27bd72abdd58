// What a transaction has written: its lines, and what they held before.
#pragma once

#include <outlast/base/cache_line.hpp>
#include <outlast/base/hash.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

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
  struct image_pair {
    line_image before;
    line_image after;
  };

  explicit write_set(keeps kept = keeps::lines) noexcept : keeps_images_(kept == keeps::images) {}

  /// Forgets everything; keeps the memory.
  void clear() noexcept {
    if (lines_.size() * 8 < slots_.size()) {
      // The newest first: the way to a line's place leads over those of older ones.
      for (auto each = lines_.rbegin(); each != lines_.rend(); ++each) {
        slots_[place_of(each->line)] = 0;
      }
    } else {
      std::fill(slots_.begin(), slots_.end(), 0);
    }
    lines_.clear();
    images_.clear();
    journal_.clear();
    operation_ = 1;
  }

  /// What is written from here on can be undone alone.
  void begin_operation() noexcept {
    journal_.clear();
    ++operation_;
  }

  /// `line`, which holds `content`, is about to be written. Throws std::bad_alloc without effect.
  void touch(line_number line, const std::byte* content) {
    if (slots_.size() < 2 * (lines_.size() + 1)) grow();
    if (journal_.size() == journal_.capacity()) journal_.reserve(2 * journal_.size() + 8);
    if (images_.size() == images_.capacity() && keeps_images_) {
      images_.reserve(2 * images_.size() + 8);
    }
    const std::size_t place = place_of(line);
    if (slots_[place] == 0) {
      lines_.push_back({line, operation_});
      if (keeps_images_) {
        std::memcpy(images_.emplace_back().before.data(), content, sizeof(line_image));
      }
      slots_[place] = static_cast<std::uint32_t>(lines_.size());
    } else {
      entry& known = lines_[slots_[place] - 1];
      if (known.operation == operation_) return;
      known.operation = operation_;
    }
    before& saved = journal_.emplace_back();
    saved.line = line;
    std::memcpy(saved.content.data(), content, saved.content.size());
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
  void seal(ContentOf&& content_of) {
    for (std::size_t i = 0; i < images_.size(); ++i) {
      std::memcpy(images_[i].after.data(), content_of(lines_[i].line), sizeof(line_image));
    }
  }
  /// Calls `visit(line, image_pair)` for each line.
  template <class Visit>
  void for_each_image(Visit&& visit) const {
    for (std::size_t i = 0; i < images_.size(); ++i) visit(lines_[i].line, images_[i]);
  }

  /// Calls `restore(line, content)` for what the current operation has changed, newest first.
  template <class Restore>
  void undo_operation(Restore&& restore) {
    for (auto each = journal_.rbegin(); each != journal_.rend(); ++each) {
      restore(each->line, each->content);
    }
    begin_operation();
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
  struct before {
    line_number line;
    line_image content;
  };

  /// Where the line's number stands, or would.
  [[nodiscard]] std::size_t place_of(line_number line) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = base::mix64(line) & mask;
    while (slots_[place] != 0 && lines_[slots_[place] - 1].line != line) place = (place + 1) & mask;
    return place;
  }

  void grow() {
    std::vector<std::uint32_t> larger(std::max<std::size_t>(64, slots_.size() * 2), 0);
    slots_.swap(larger);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      slots_[place_of(lines_[i].line)] = static_cast<std::uint32_t>(i + 1);
    }
  }

  bool keeps_images_;
  std::vector<entry> lines_;
  std::vector<image_pair> images_;    // of lines_, if it keeps them
  std::vector<std::uint32_t> slots_;  // numbers of lines_, from 1; 0: free
  std::vector<before> journal_;       // of the current operation
  std::uint64_t operation_ = 1;
};

}  // namespace outlast::tx::detail
