// The changes of a call of together(), and a cursor over a store as it is with them.
#pragma once

#include <outlast/db/iterator.hpp>
#include <outlast/db/slice.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::server::stored {

/// The last change of each stored key; no value: the key is removed.
using change_map = std::map<std::string, std::optional<std::string>, std::less<>>;

/// The entries of an iterator, with changes applied. The cursor is at the first entry that is not
/// before a key. Thread-safety: one thread at a time.
class merged_cursor {
 public:
  /// `changes`: nullptr for none; they must outlive the cursor and must not change.
  merged_cursor(std::unique_ptr<db::Iterator> stored, const change_map* changes,
                const std::string& from)
      : stored_(std::move(stored)), changes_(changes) {
    stored_->Seek(from);
    if (changes_ != nullptr) change_ = changes_->lower_bound(from);
    skip_removed();
  }

  [[nodiscard]] bool is_valid() const { return stored_->Valid() || has_change(); }
  // Return the entry. Require: is_valid(). The bytes exist until next().
  [[nodiscard]] std::string_view key() const {
    return is_at_change() ? std::string_view(change_->first) : stored_->key().view();
  }
  [[nodiscard]] std::string_view value() const {
    return is_at_change() ? std::string_view(*change_->second) : stored_->value().view();
  }
  void next() {
    if (is_at_change()) {
      pass_change();
    } else {
      stored_->Next();
    }
    skip_removed();
  }
  [[nodiscard]] db::Status status() const { return stored_->status(); }

 private:
  [[nodiscard]] bool has_change() const {
    return changes_ != nullptr && change_ != changes_->end();
  }
  /// Returns true if the change is the entry: its key is not after the stored one.
  [[nodiscard]] bool is_at_change() const {
    return has_change() && (!stored_->Valid() || change_->first <= stored_->key().view());
  }
  void pass_change() {
    if (stored_->Valid() && stored_->key().view() == change_->first) stored_->Next();
    ++change_;
  }
  void skip_removed() {
    while (is_at_change() && !change_->second) pass_change();
  }

  std::unique_ptr<db::Iterator> stored_;
  const change_map* changes_;
  change_map::const_iterator change_;
};

}  // namespace outlast::server::stored
