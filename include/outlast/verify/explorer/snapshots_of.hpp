// Adapts a map with snapshots to scenarios: snapshots are open at each change.
#pragma once

#include <cstddef>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify {

/// `Tree` is a containers::managed_tree. During each update two snapshots are open that an earlier
/// update or another thread took. Each lookup uses a snapshot of its own. check() verifies that
/// snapshots have not changed, that no unreachable blocks are in use, and that no blocks are kept
/// for closed snapshots.
///
/// Thread-safety: that of the tree, except for check().
template <class Tree>
class snapshots_of : public Tree {
 public:
  using Tree::Tree;
  using typename Tree::key_type;
  using typename Tree::mapped_type;

  bool insert(const key_type& key, const mapped_type& value) {
    renew();
    return Tree::insert(key, value);
  }
  bool put(const key_type& key, const mapped_type& value) {
    renew();
    return Tree::put(key, value);
  }
  bool update(const key_type& key, const mapped_type& value) {
    renew();
    return Tree::update(key, value);
  }
  bool erase(const key_type& key) {
    renew();
    return Tree::erase(key);
  }
  [[nodiscard]] bool contains(const key_type& key) { return Tree::take_snapshot().contains(key); }
  [[nodiscard]] std::optional<mapped_type> get(const key_type& key) {
    return Tree::take_snapshot().get(key);
  }

  [[nodiscard]] std::string check() {
    for (const kept& each : kept_) compare(each);
    if (wrong_.empty()) wrong_ = Tree::check();
    if (wrong_.empty() && kept_.empty()) check_that_nothing_is_kept();
    const std::size_t lost = Tree::blocks_besides() - 2;
    if (wrong_.empty() && lost != 0) wrong_ = std::to_string(lost) + " blocks are lost";
    return wrong_;
  }

 private:
  using content = std::vector<std::pair<key_type, mapped_type>>;
  struct kept {
    typename Tree::snapshot then;
    content held;
  };
  static constexpr std::size_t most = 2;

  static content content_of(const typename Tree::snapshot& then) {
    content found;
    for (auto at = then.iterate(); at.is_valid(); at.next())
      found.emplace_back(at.key(), at.value());
    return found;
  }
  void compare(const kept& with) {
    if (content_of(with.then) == with.held) return;
    const std::lock_guard lock(mutex_);
    wrong_ = "a snapshot is not what it was";
  }

  void check_that_nothing_is_kept() {
    static_cast<void>(Tree::collect());
    const bool keeps =
        Tree::manager().read(Tree::named(), [](const auto& tree) { return tree.keeps_versions(); });
    if (keeps) wrong_ = "something is kept for snapshots that are gone";
  }

  void renew() {
    for (const kept& each : take_one()) compare(each);
    const typename Tree::snapshot then = Tree::take_snapshot();
    kept made{then, content_of(then)};
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(made));
  }
  /// Removes one snapshot, if there are enough, and returns it: alternately the newest and the
  /// oldest.
  [[nodiscard]] std::vector<kept> take_one() {
    std::vector<kept> taken;
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= most) {
      const auto which = taken_++ % 2 == 0 ? std::prev(kept_.end()) : kept_.begin();
      taken.push_back(std::move(*which));
      kept_.erase(which);
    }
    return taken;
  }

  std::mutex mutex_;  // nothing in the pool is touched while it is held
  std::vector<kept> kept_;
  unsigned taken_ = 0;
  std::string wrong_;
};

}  // namespace outlast::verify
