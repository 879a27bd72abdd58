// A hash map in transactions, which grows by a few lines at a time: linear hashing.
#pragma once

#include <outlast/base/hash.hpp>
#include <outlast/containers/detail/hash_line.hpp>
#include <outlast/containers/detail/stored.hpp>
#include <outlast/containers/detail/stored_names.hpp>
#include <outlast/tx/field.hpp>
#include <outlast/tx/heap.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace outlast::containers {

/// Sequential code, an object of a transaction manager. Key and Value are trivially copyable, or
/// std::string for byte strings of any length. These are passed and returned as std::string_view. A
/// view is valid inside the transaction, until its entry changes. A `Hash` other than the default
/// one may be weak.
///
/// Lines have 64 bytes each. Most keys of up to 8 bytes, with values of up to 8 bytes, are found,
/// added and removed in one line. There is no counter of keys: size() visits all of them. An
/// insertion that finds its line full, and the lines around it well filled, splits at most 64 lines
/// in its own transaction. [Lit80]
///
/// A member that throws out_of_space may have changed part of the map. The operation must then end
/// with the exception, which undoes all its changes.
///
/// Invariants:
///   I1  a key is in the chain of lines that its hash names.
///   I2  no line except the first of a chain is empty.
template <class Key, class Value, class Hash = base::default_hash<Key>>
class hash_map {
  using key_view = detail::view_of<Key>;
  using value_view = detail::view_of<Value>;

 public:
  using key_type = Key;
  using mapped_type = Value;

  /// Adds an entry. Returns false, without a change, if the key exists. Throws out_of_space.
  bool insert(key_view key, value_view value) { return add(key, value, false); }
  /// Sets the value of a key. Returns true if the key is new. Throws out_of_space.
  bool put(key_view key, value_view value) { return add(key, value, true); }
  /// Replaces the value of a key. Returns false if the key does not exist. Throws out_of_space if
  /// values are strings.
  bool update(key_view key, value_view value) {
    const place at = find(key);
    if (at.in == nullptr) return false;
    at.entry().value.set(value);
    return true;
  }
  /// Removes a key. Returns false if it does not exist.
  bool erase(key_view key) {
    const std::uint64_t hash = hash_of(key);
    const place at = find(key, hash);
    if (at.in == nullptr) return false;
    at.in->slot(at.number).release();
    at.in->clear(at.number);
    if (at.in->count() == 0) drop(*at.in, first_line(hash));
    return true;
  }

  [[nodiscard]] bool contains(key_view key) const { return find(key).in != nullptr; }
  [[nodiscard]] std::optional<detail::copy_of<Value>> get(key_view key) const {
    const place at = find(key);
    if (at.in == nullptr) return std::nullopt;
    return at.entry().value.get();
  }
  /// Returns the number of keys. Visits all lines.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t all = 0;
    for_each_line([&](line& at, std::size_t) { all += at.count(); });
    return all;
  }

  /// Calls `visit(key, value)` for each key, in no order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each_line([&](line& at, std::size_t) {
      for (std::size_t i = 0; i < line::places; ++i) {
        if (at.tag(i) == 0) continue;
        const entry& each = at.slot(i).entry();
        visit(each.key.get(), each.value.get());
      }
    });
  }

  /// The number of lines at which chains begin.
  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }
  /// Returns the first violated invariant; "" if there is none. Visits all entries.
  [[nodiscard]] std::string check() const {
    std::string wrong;
    for_each_line([&](line& at, std::size_t number) {
      for (std::size_t i = 0; i < line::places; ++i) {
        if (at.tag(i) == 0) continue;
        const std::uint64_t hash = hash_of(at.slot(i).entry().key.get());
        if (line_for(hash) != number) wrong = "I1: a key in another one's line";
        if (at.tag(i) != tag_of(hash)) wrong = "I1: another one's tag";
      }
      if (at.count() == 0 && &at != &line_at(number)) wrong = "I2: an empty line";
    });
    return wrong;
  }

 private:
  using entry = detail::hash_entry<Key, Value>;
  using slot = detail::hash_slot<Key, Value>;
  using line = detail::hash_line<slot>;
  static_assert(sizeof(line) == base::cache_line_size);

  /// The position of an entry; nowhere if `in` is nullptr.
  struct place {
    line* in;
    std::size_t number;

    [[nodiscard]] auto& entry() const noexcept { return in->slot(number).entry(); }
  };

  /// Lines never move: segment 0 has line 0, segment k those from 2^(k-1) on, as many.
  static constexpr std::size_t max_segments = 34;
  struct directory {
    std::array<tx::pointer<line>, max_segments> segments;
  };

  /// The number of lines that are split at a time, of a sample of lines, and of the sample that
  /// confirms the first one.
  static constexpr std::size_t step_lines = 64;
  static constexpr std::size_t few_lines = 64;
  static constexpr std::size_t many_lines = 512;

  [[nodiscard]] static std::uint64_t hash_of(key_view key) noexcept {
    const std::uint64_t hash = Hash{}(key);
    return std::is_same_v<Hash, base::default_hash<Key>> ? hash : base::mix64(hash);
  }
  [[nodiscard]] static detail::hash_tag tag_of(std::uint64_t hash) noexcept {
    return static_cast<detail::hash_tag>(hash >> 57 | 0x80);
  }

  /// The first lines_ - whole lines of `whole`, a power of two, are split.
  [[nodiscard]] std::size_t line_for(std::uint64_t hash) const noexcept {
    const std::uint64_t lines = lines_;
    const std::uint64_t whole = std::bit_floor(lines);
    const std::uint64_t number = hash & (2 * whole - 1);
    return number < lines ? number : number - whole;
  }
  [[nodiscard]] line& line_at(std::size_t number) const noexcept {
    return directory_->segments[static_cast<std::size_t>(std::bit_width(number))]
        .get()[number - std::bit_floor(number)];
  }
  [[nodiscard]] line& first_line(std::uint64_t hash) const noexcept {
    return line_at(line_for(hash));
  }
  /// Calls `visit(line, number of the first one of its chain)`.
  template <class Visit>
  void for_each_line(Visit&& visit) const {
    for (std::size_t number = 0; number < lines_; ++number) {
      for (line* at = &line_at(number); at != nullptr; at = at->next()) visit(*at, number);
    }
  }

  [[nodiscard]] place find(key_view key) const { return find(key, hash_of(key)); }
  [[nodiscard]] place find(key_view key, std::uint64_t hash) const {
    if (lines_ == 0) return {nullptr, 0};
    const detail::hash_tag tag = tag_of(hash);
    for (line* at = &first_line(hash); at != nullptr; at = at->next()) {
      for (std::size_t i = 0; i < line::places; ++i) {
        if (at->tag(i) == tag && at->slot(i).entry().key.get() == key) return {at, i};
      }
    }
    return {nullptr, 0};
  }

  bool add(key_view key, value_view value, bool replaces) {
    const std::uint64_t hash = hash_of(key);
    const place found = find(key, hash);
    if (found.in != nullptr) {
      if (replaces) found.entry().value.set(value);
      return false;
    }
    if (lines_ == 0) begin();
    // The key and the value may be views of entries that growth moves: they are stored before it.
    if (put_in_chain(line_for(hash), tag_of(hash), key, value)) grow_if_crowded(line_for(hash));
    return true;
  }
  /// Returns true if the chain has one more line.
  template <class... Arguments>
  bool put_in_chain(std::size_t number, detail::hash_tag tag, const Arguments&... arguments) {
    line& first = line_at(number);
    for (line* at = &first; at != nullptr; at = at->next()) {
      const std::size_t hole = at->hole();
      if (hole == line::places) continue;
      at->fill(hole, tag, arguments...);
      return false;
    }
    line* const more = tx::alloc<line>();
    if (first.next() != nullptr) more->set_next(first.next());
    more->fill(0, tag, arguments...);
    first.set_next(more);
    return true;
  }
  /// Removes `gone`, which is empty, from its chain, unless it is the first line.
  void drop(line& gone, line& first) {
    if (&gone == &first) return;
    line* before = &first;
    while (before->next() != &gone) before = before->next();
    before->set_next(gone.next());
    tx::free(&gone);
  }

  // ---- Growth ----

  void begin() {
    directory_ = tx::alloc<directory>();
    make_segment(0, 1);
    ::new (&line_at(0)) line;
    lines_ = 1;
  }
  /// The lines hold anything.
  void make_segment(std::size_t number, std::size_t lines) {
    directory_->segments[number] =
        static_cast<line*>(tx::heap(tx::running()).allocate(lines * sizeof(line), alignof(line)));
  }

  /// Estimates how full all lines are from line `number` and the lines after it. Mostly reads few.
  void grow_if_crowded(std::size_t number) {
    if (are_crowded(number + 1, few_lines) && are_crowded(number + 1, many_lines)) split_some();
  }
  /// Five eighths of the places are taken: two keys for three places, or four for six.
  [[nodiscard]] bool are_crowded(std::size_t from, std::size_t most) const {
    const std::size_t sample = std::min<std::size_t>(most, lines_);
    std::size_t held = 0;
    for (std::size_t i = 0; i < sample; ++i) held += line_at((from + i) % lines_).count();
    return 8 * held >= 5 * line::places * sample;
  }
  void split_some() {
    const std::size_t whole = std::bit_floor(lines_.get());
    const std::size_t first = lines_ - whole;
    if (first == 0) {
      const auto segment = static_cast<std::size_t>(std::bit_width(whole));
      if (segment == max_segments) return;
      make_segment(segment, whole);
    }
    const std::size_t last = std::min(first + step_lines, whole);
    for (std::size_t number = first; number < last; ++number) split(number, whole);
    lines_ = whole + last;
  }
  /// Moves the entries that now belong to the new line whole + number there.
  void split(std::size_t number, std::size_t whole) {
    line& first = line_at(number);
    ::new (&line_at(whole + number)) line;
    line* more = first.next();
    if (more != nullptr) first.set_next(nullptr);
    for (std::size_t i = 0; i < line::places; ++i) {
      const std::size_t to = first.tag(i) == 0 ? number : number_in_split(first, i, whole);
      if (to == number) continue;
      put_in_chain(to, first.tag(i), std::as_const(first.slot(i)));
      first.clear(i);
    }
    while (more != nullptr) {
      for (std::size_t i = 0; i < line::places; ++i) {
        if (more->tag(i) == 0) continue;
        put_in_chain(number_in_split(*more, i, whole), more->tag(i), std::as_const(more->slot(i)));
      }
      tx::free(std::exchange(more, more->next()));
    }
  }
  [[nodiscard]] static std::size_t number_in_split(line& of, std::size_t i, std::size_t whole) {
    return hash_of(of.slot(i).entry().key.get()) & (2 * whole - 1);
  }

  tx::pointer<directory> directory_;  // nullptr: there was never a key
  tx::field<std::uint64_t> lines_;
};

}  // namespace outlast::containers
