// Changes that are not in the store yet, and a cursor over a store as it is with them.
#pragma once

#include <outlast/db/iterator.hpp>
#include <outlast/db/slice.hpp>
#include <outlast/db/write_batch.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace outlast::server::stored {

/// The last change of each stored key; no value: the key is removed.
using change_map = std::map<std::string, std::optional<std::string>, std::less<>>;

/// Applies `newer` to `all`, and leaves the rest of it undefined. Allocates nothing.
inline void apply_changes(change_map& all, change_map& newer) noexcept {
  while (!newer.empty()) {
    change_map::node_type each = newer.extract(newer.begin());
    if (const auto at = all.find(each.key()); at != all.end()) {
      at->second.swap(each.mapped());
    } else {
      all.insert(std::move(each));
    }
  }
}

/// Adds changes to a batch.
inline void add_to(db::WriteBatch& batch, const change_map& changes) {
  for (const auto& [name, value] : changes) {
    if (value) {
      batch.Put(name, *value);
    } else {
      batch.Delete(name);
    }
  }
}

/// The entries of an iterator in one direction, with changes applied.
/// Thread-safety: one thread at a time.
class merged_cursor {
 public:
  enum class order { ascending, descending };
  /// Changes, nullptr for none. The later ones are newer.
  using change_maps = std::array<const change_map*, 2>;

  /// Begins at the first entry that is not before a key, or at the last one that is before it.
  /// `changes` must outlive the cursor and must not change.
  merged_cursor(std::unique_ptr<db::Iterator> stored, const change_maps& changes,
                const std::string& from, order by = order::ascending)
      : stored_(std::move(stored)), order_(by) {
    stored_->Seek(from);
    if (order_ == order::descending) move_before_stored();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (changes[i] != nullptr) begin(layers_[i], *changes[i], from);
    }
    settle();
  }

  [[nodiscard]] bool is_valid() const noexcept { return source_ != none; }
  // Return the entry. Require: is_valid(). The bytes exist until next().
  [[nodiscard]] std::string_view key() const { return key_of(source_); }
  [[nodiscard]] std::string_view value() const {
    return source_ == of_store ? stored_->value().view()
                               : std::string_view(*layers_[source_].at->second);
  }
  void next() {
    pass();
    settle();
  }
  [[nodiscard]] db::Status status() const { return stored_->status(); }

 private:
  /// A position in changes.
  struct layer {
    const change_map* of = nullptr;
    change_map::const_iterator at;
    bool is_at_entry = false;
  };
  /// The index of a layer, or one of two more sources of entries.
  using source = std::size_t;
  static constexpr source of_store = std::tuple_size_v<change_maps>;
  static constexpr source none = of_store + 1;

  void move_before_stored() {
    if (stored_->Valid()) {
      stored_->Prev();
    } else if (stored_->status().ok()) {
      stored_->SeekToLast();
    }
  }
  void begin(layer& in, const change_map& of, const std::string& from) {
    in.of = &of;
    in.at = of.lower_bound(from);
    in.is_at_entry = in.at != of.end();
    if (order_ == order::ascending) return;
    in.is_at_entry = in.at != of.begin();
    if (in.is_at_entry) --in.at;
  }

  [[nodiscard]] std::string_view key_of(source from) const {
    return from == of_store ? stored_->key().view() : std::string_view(layers_[from].at->first);
  }
  [[nodiscard]] bool has_entry(source from) const {
    return from == of_store ? stored_->Valid() : layers_[from].is_at_entry;
  }
  /// Selects the source of the next entry. A newer source precedes an older one with the same key.
  void select() {
    source_ = has_entry(of_store) ? of_store : none;
    for (source i = 0; i < layers_.size(); ++i) {
      if (!has_entry(i)) continue;
      const int to_present = source_ == none ? 0 : key_of(i).compare(key());
      if (order_ == order::ascending ? to_present <= 0 : to_present >= 0) source_ = i;
    }
  }
  void settle() {
    for (select(); is_removal(); select()) pass();
  }
  [[nodiscard]] bool is_removal() const {
    return source_ < of_store && !layers_[source_].at->second;
  }
  /// Moves all sources after the entry.
  void pass() {
    const std::string_view passed = key();
    for (source i = 0; i <= of_store; ++i) {
      if (i != source_ && has_entry(i) && key_of(i) == passed) advance(i);
    }
    advance(source_);
  }
  void advance(source in) {
    if (in == of_store) return order_ == order::ascending ? stored_->Next() : stored_->Prev();
    layer& here = layers_[in];
    if (order_ == order::ascending) {
      here.is_at_entry = ++here.at != here.of->end();
    } else {
      here.is_at_entry = here.at != here.of->begin();
      if (here.is_at_entry) --here.at;
    }
  }

  std::unique_ptr<db::Iterator> stored_;
  order order_;
  std::array<layer, std::tuple_size_v<change_maps>> layers_;
  source source_ = none;
};

}  // namespace outlast::server::stored
