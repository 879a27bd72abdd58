#include <tests/powercut/epoch_checkers.hpp>

#include <algorithm>
#include <utility>

namespace outlast::test::powercut {
namespace {

std::string describe(std::optional<std::uint64_t> value) {
  return value ? std::to_string(*value) : "nothing";
}

/// Tries the ends of all epochs that a crash may have cut at, the last first. What contradicts
/// each of them; empty if one explains everything.
template <class Contradiction>
std::string explain(const epoch_bounds& bounds, Contradiction&& contradiction) {
  std::string all;
  for (std::uint64_t epoch = bounds.last() + 1; epoch-- > bounds.first();) {
    const std::string found = contradiction(epoch);
    if (found.empty()) return {};
    all += "; if cut at " + std::to_string(epoch) + ": " + found;
  }
  return "no epoch explains the survivors" + all;
}

}  // namespace

void epoch_bounds::returned(std::uint32_t thread, const operation& done) {
  const bool is_sync = code_of(done) == sync_epochs;
  const std::uint64_t epoch = is_sync ? done.value : epoch_of(done);
  if (epoch == 0) return;
  if (epoch < newest_of_[thread]) {
    complaint_ = "thread " + std::to_string(thread) + " went from epoch " +
                 std::to_string(newest_of_[thread]) + " back to " + std::to_string(epoch);
  }
  newest_of_[thread] = epoch;
  std::uint64_t& most = is_sync ? synced_ : newest_;
  most = std::max(most, epoch);
}

// ---- Maps ----

std::unique_ptr<checker> buffered_map_checker::clone() const {
  return std::make_unique<buffered_map_checker>(*this);
}

void buffered_map_checker::returned(std::uint32_t thread, const operation& done) {
  bounds_.returned(thread, done);
  if (code_of(done) == sync_epochs || epoch_of(done) == 0) return;
  const value now = code_of(done) == erase ? value{} : value{done.value};
  since_[done.key].push_back({epoch_of(done), now});
}

void buffered_map_checker::interrupted(std::uint32_t, const operation& begun) {
  if (code_of(begun) != sync_epochs) pending_[begun.key] = begun;
}

buffered_map_checker::value buffered_map_checker::at_end_of(std::uint64_t epoch,
                                                            std::uint64_t key) const {
  const auto old = before_.find(key);
  value now = old == before_.end() ? value{} : value{old->second};
  const auto changed = since_.find(key);
  if (changed == since_.end()) return now;
  for (const version& each : changed->second) {
    if (each.epoch <= epoch) now = each.now;
  }
  return now;
}

bool buffered_map_checker::explained(std::uint64_t epoch, std::uint64_t key, value found) const {
  if (found == at_end_of(epoch, key)) return true;
  const auto begun = pending_.find(key);
  if (begun == pending_.end()) return false;
  return found == (code_of(begun->second) == erase ? value{} : value{begun->second.value});
}

std::string buffered_map_checker::contradiction(std::uint64_t epoch, const content& found) const {
  const auto about = [&](std::uint64_t key, value now) {
    if (explained(epoch, key, now)) return std::string();
    return "key " + std::to_string(key) + " has " + describe(now) + " instead of " +
           describe(at_end_of(epoch, key));
  };
  std::string wrong;
  for (const auto& [key, now] : found) {
    if (wrong = about(key, now); !wrong.empty()) return wrong;
  }
  const auto lost = [&](std::uint64_t key) {
    wrong = found.contains(key) ? "" : about(key, std::nullopt);
    return !wrong.empty();
  };
  for (const auto& [key, now] : before_) {
    if (lost(key)) return wrong;
  }
  for (const auto& [key, versions] : since_) {
    if (lost(key)) return wrong;
  }
  return {};
}

std::string buffered_map_checker::compare(std::span<const entry> survivors) {
  if (!bounds_.complaint().empty()) return bounds_.complaint();
  content found;
  for (const entry& each : survivors) {
    if (!found.emplace(each.key, each.value).second) {
      return "key " + std::to_string(each.key) + " is there twice";
    }
  }
  const auto contradicts = [&](std::uint64_t epoch) { return contradiction(epoch, found); };
  if (std::string wrong = explain(bounds_, contradicts); !wrong.empty()) return wrong;
  before_ = std::move(found);
  since_.clear();
  pending_.clear();
  bounds_.settled();
  return {};
}

// ---- Queues and stacks ----

std::unique_ptr<checker> buffered_sequence_checker::clone() const {
  return std::make_unique<buffered_sequence_checker>(*this);
}

void buffered_sequence_checker::returned(std::uint32_t thread, const operation& done) {
  bounds_.returned(thread, done);
  if (code_of(done) == push) {
    since_[thread].push_back(done.value);
    pushed_in_[done.value] = epoch_of(done);
  } else if (code_of(done) == pop && done.key != 0) {
    if (popped_in_.emplace(done.value, epoch_of(done)).second) return;
    complaint_ = std::to_string(done.value) + " came out twice";
  }
}

void buffered_sequence_checker::interrupted(std::uint32_t thread, const operation& begun) {
  if (code_of(begun) == pop) ++pops_begun_;
  if (code_of(begun) != push) return;
  being_pushed_.insert(begun.value);
  since_[thread].push_back(begun.value);
}

bool buffered_sequence_checker::was_pushed(std::uint64_t value, std::uint64_t epoch) const {
  const auto at = pushed_in_.find(value);
  return at != pushed_in_.end() && at->second <= epoch;
}

bool buffered_sequence_checker::was_popped(std::uint64_t value, std::uint64_t epoch) const {
  const auto at = popped_in_.find(value);
  return at != popped_in_.end() && at->second <= epoch;
}

/// What is wrong whatever the epoch: survivors of before come first, as they lay; the others as
/// their threads pushed them, in epochs that never decrease.
std::string buffered_sequence_checker::disorder(const values& found) const {
  std::array<std::uint64_t, 64> last_of{};
  std::uint64_t epoch = 0;
  auto old = before_.begin();
  for (const std::uint64_t value : found) {
    const auto at = std::find(old, before_.end(), value);
    if (at != before_.end()) {
      if (epoch != 0) return "old value " + std::to_string(value) + " lies behind new ones";
      old = at + 1;
      continue;
    }
    const auto pushed = pushed_in_.find(value);
    if (pushed == pushed_in_.end() && !being_pushed_.contains(value)) {
      return std::to_string(value) + " was not pushed, or it has another position than before";
    }
    old = before_.end();
    std::uint64_t& last = last_of[value >> 58];
    if (value <= last) return "values of one thread are out of order";
    last = value;
    if (pushed == pushed_in_.end()) continue;
    if (pushed->second < epoch) return "a value of an earlier epoch lies behind one of a later";
    epoch = pushed->second;
  }
  return {};
}

std::string buffered_sequence_checker::walk(const values& source, std::uint64_t epoch,
                                            const set& found, std::size_t& missing,
                                            bool& any_is_there) const {
  for (const std::uint64_t value : source) {
    const bool is_old = &source == &before_;
    const bool is_there = found.contains(value);
    const bool may_be = is_old || was_pushed(value, epoch) || being_pushed_.contains(value);
    if (is_there && !may_be) return std::to_string(value) + " was pushed later";
    if (is_there && was_popped(value, epoch)) return std::to_string(value) + " came out before";
    if (is_there) any_is_there = true;
    if (is_there || !(is_old || was_pushed(value, epoch))) continue;
    if (!was_popped(value, epoch)) ++missing;
    if (any_is_there && order_ == sequence_order::queue) {
      return std::to_string(value) + " is gone, and an earlier one is not";
    }
  }
  return {};
}

std::string buffered_sequence_checker::contradiction(std::uint64_t epoch, const set& found) const {
  std::size_t missing = 0;
  bool any_old = false;
  if (std::string wrong = walk(before_, epoch, found, missing, any_old); !wrong.empty())
    return wrong;
  for (const values& of_thread : since_) {
    bool any_is_there = any_old;
    std::string wrong = walk(of_thread, epoch, found, missing, any_is_there);
    if (!wrong.empty()) return wrong;
  }
  if (missing <= pops_begun_) return {};
  return std::to_string(missing) + " values are missing that no pop has taken";
}

std::string buffered_sequence_checker::compare(std::span<const entry> survivors) {
  if (!bounds_.complaint().empty()) return bounds_.complaint();
  if (!complaint_.empty()) return complaint_;
  values found;
  set distinct;
  for (const entry& each : survivors) {
    found.push_back(each.key);
    if (!distinct.insert(each.key).second) {
      return std::to_string(each.key) + " is there twice";
    }
  }
  if (order_ == sequence_order::stack) std::reverse(found.begin(), found.end());
  if (std::string wrong = disorder(found); !wrong.empty()) return wrong;
  const auto contradicts = [&](std::uint64_t epoch) { return contradiction(epoch, distinct); };
  if (std::string wrong = explain(bounds_, contradicts); !wrong.empty()) return wrong;
  before_ = std::move(found);
  for (values& of_thread : since_) of_thread.clear();
  pushed_in_.clear();
  popped_in_.clear();
  being_pushed_.clear();
  pops_begun_ = 0;
  bounds_.settled();
  return {};
}

}  // namespace outlast::test::powercut
