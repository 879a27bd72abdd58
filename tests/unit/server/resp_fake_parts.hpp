// The parts of an item in ordinary memory, which check how they are used.
#pragma once

#include <outlast/server/items.hpp>

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace outlast::server {

/// Parts in a map. Throws std::logic_error for a change inside a walk, or where none is allowed.
class resp_fake_parts final : public item_parts {
 public:
  using part_map = std::map<std::string, std::string, std::less<>>;

  resp_fake_parts(part_map& parts, bool may_change) : parts_(parts), may_change_(may_change) {}

  bool read(std::string_view name, reader look) override {
    const auto found = parts_.find(name);
    if (found == parts_.end()) return false;
    look(found->second);
    return true;
  }
  void walk(std::string_view from, visitor visit) override {
    is_walked_ = true;
    for (auto at = parts_.lower_bound(from); at != parts_.end(); ++at) {
      ++visited;
      if (!visit(at->first, at->second)) break;
    }
    is_walked_ = false;
  }
  void walk_back(std::string_view before, visitor visit) override {
    is_walked_ = true;
    for (auto at = parts_.lower_bound(before); at != parts_.begin();) {
      --at;
      ++visited;
      if (!visit(at->first, at->second)) break;
    }
    is_walked_ = false;
  }
  void put(std::string_view name, std::string_view value) override {
    note_change();
    parts_.insert_or_assign(std::string(name), std::string(value));
  }
  void erase(std::string_view name) override {
    note_change();
    if (const auto found = parts_.find(name); found != parts_.end()) parts_.erase(found);
  }
  void clear() override {
    note_change();
    parts_.clear();
    is_cleared = true;
  }

  bool is_changed = false;
  bool is_cleared = false;
  int visited = 0;  ///< parts that walks have visited

 private:
  void note_change() {
    if (is_walked_ || !may_change_)
      throw std::logic_error("a change of parts during a walk or read");
    is_changed = true;
  }

  part_map& parts_;
  bool may_change_;
  bool is_walked_ = false;
};

}  // namespace outlast::server
