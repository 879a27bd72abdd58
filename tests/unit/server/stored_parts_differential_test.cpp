// Goal: items with parts in a store behave as a map in ordinary memory, also over openings, calls
// that are one, sweeps and erasures.
// Method: random calls on each of five media, applied to both. Each call compares what it sees, all
// items are compared every few hundred calls, and the bytes with those of the store's entries.
#include <tests/unit/server/parts_stand.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace outlast::server {
namespace {

using kind = item_change::kind;
using test::place;

/// An item of the model.
struct model_item {
  whole_item whole;
  std::int64_t expires_ms = 0;
  std::int64_t stored_ms = 0;
};

class space_and_model {
 public:
  space_and_model(place where, std::uint64_t seed) : stored_(where), random_(seed) {}

  void step() {
    now_ms_ += below(6) == 0 ? static_cast<std::int64_t>(below(500)) : 0;
    const std::uint64_t dice = below(300);
    if (dice == 0) return erase_everything();
    if (dice < 20) return work_together();
    if (dice < 40) return sweep_some();
    call();
  }
  void compare_all() {
    std::map<std::string, whole_item> expected;
    for (const auto& [key, one] : model_) {
      if (is_live(one)) expected.emplace(key, one.whole);
    }
    std::map<std::string, whole_item> found;
    for (const auto& [key, value] : all_in(*stored_, 1 + below(50), now_ms_)) {
      found.emplace(key, whole_in(*stored_, key, now_ms_));
      ASSERT_EQ(found[key].value, value);
    }
    ASSERT_EQ(found, expected);
    if (below(3) != 0) return;
    sweep_all(*stored_, now_ms_);
    std::size_t parts = 0;
    std::size_t sets = 0;
    for (const auto& [key, one] : expected) {
      parts += one.parts.size();
      sets += one.type == 0 ? 0 : 1;
    }
    ASSERT_EQ(stored_->items(), expected.size());
    ASSERT_EQ(entries_with(*stored_.home, '\2'), parts);
    ASSERT_EQ(entries_with(*stored_.home, '\3'), sets);
    ASSERT_EQ(stored_->bytes(), bytes_in(*stored_.home));
  }
  void open_again() {
    const std::uint64_t items = stored_->items();
    const std::uint64_t bytes = stored_->bytes();
    stored_.open();
    ASSERT_EQ(stored_->items(), items);
    ASSERT_EQ(stored_->bytes(), bytes);
  }
  void use_sync() { stored_.options.sync = true; }

 private:
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::string random_key() { return "key " + std::to_string(below(40)); }
  std::string random_name() {
    return std::string(below(3), static_cast<char>('a' + below(4))) + std::to_string(below(30));
  }
  std::string random_value() { return std::string(below(90), static_cast<char>('a' + below(26))); }
  bool is_live(const model_item& one) const {
    return (one.expires_ms == 0 || one.expires_ms > now_ms_) &&
           !(erase_at_ms_ != 0 && now_ms_ >= erase_at_ms_ && one.stored_ms < erase_at_ms_);
  }
  /// Returns the item, or a new one that is absent.
  model_item expected_of(const std::string& key) {
    const auto at = model_.find(key);
    return at != model_.end() && is_live(at->second) ? at->second : model_item();
  }

  void call() {
    const std::string key = random_key();
    const std::uint64_t dice = below(12);
    if (dice < 3) return look(key);
    if (dice == 3) return change_string(key);
    change_parts(key);
  }

  void look(const std::string& key) {
    ASSERT_EQ(whole_in(*stored_, key, now_ms_), expected_of(key).whole) << key;
    ASSERT_EQ(value_in(*stored_, key, now_ms_), expected_of(key).whole.value) << key;
    look_from(key, random_name());
  }
  /// Walks from a name, and visits some parts only.
  void look_from(const std::string& key, const std::string& name) {
    const part_map expected = expected_of(key).whole.parts;
    stored_->read_parts(key, now_ms_, use::counts, [&](const item&, item_parts& parts) {
      std::size_t left = below(8);
      auto at = expected.lower_bound(name);
      parts.walk(name, [&](std::string_view found, std::string_view value) {
        EXPECT_TRUE(at != expected.end() && at->first == found && at->second == value) << found;
        ++at;
        return left-- != 0 && !::testing::Test::HasFailure();
      });
      left = below(8);
      auto before = expected.lower_bound(name);
      parts.walk_back(name, [&](std::string_view found, std::string_view value) {
        EXPECT_TRUE(before != expected.begin()) << found;
        if (before == expected.begin()) return false;
        --before;
        EXPECT_TRUE(before->first == found && before->second == value) << found;
        return left-- != 0 && !::testing::Test::HasFailure();
      });
    });
  }

  /// Erases an item, changes its time, or replaces it by a string.
  void change_string(const std::string& key) {
    model_item next = expected_of(key);
    item_change change;
    const std::uint64_t dice = below(3);
    change.what = dice == 0 ? kind::put : dice == 1 ? kind::adjust : kind::erase;
    const std::string value = random_value();
    change.front = value;
    if (below(3) == 0) change.expires_ms = now_ms_ + static_cast<std::int64_t>(below(2'000));
    const bool was_there = next.whole != whole_item();
    const bool has_effect = was_there || change.what == kind::put;
    ASSERT_EQ(stored_->modify(key, now_ms_, [&](const item*) { return change; }).changed,
              has_effect);
    if (!has_effect) return;
    if (change.what == kind::erase) {
      model_.erase(key);
      return;
    }
    next.expires_ms = change.expires_ms;
    if (change.what == kind::put) {
      next.whole = {0, value, {}};
      next.stored_ms = stored_time();
    }
    model_[key] = std::move(next);
  }

  void change_parts(const std::string& key) {
    model_item next = expected_of(key);
    const bool was_there = next.whole != whole_item();
    if (!was_there) next.whole.value.clear();
    item_change change;
    std::string value;
    const bool throws = below(20) == 0;
    const auto decide = [&](const item* old, item_parts& parts) {
      EXPECT_EQ(old != nullptr, was_there) << key;
      EXPECT_EQ(old == nullptr ? "" : old->value, next.whole.value);
      if (below(2) == 0) {
        EXPECT_EQ(all_parts(parts), next.whole.parts) << key;
      }
      for (std::uint64_t left = below(8); left != 0; --left) edit(parts, next.whole.parts);
      change = next_change(parts, next.whole, value);
      if (throws) throw std::runtime_error("after its changes");
      return change;
    };
    if (throws) {
      ASSERT_THROW(stored_->modify_parts(key, now_ms_, decide), std::runtime_error);
      return look(key);
    }
    stored_->modify_parts(key, now_ms_, decide);
    if (change.what == kind::erase) {
      model_.erase(key);
    } else {
      next.whole.value = value;
      next.expires_ms = change.expires_ms;
      next.stored_ms = stored_time();
      model_[key] = std::move(next);
    }
    look(key);
  }
  void edit(item_parts& parts, part_map& expected) {
    const std::string name = random_name();
    const std::uint64_t dice = below(40);
    if (dice == 0) {
      parts.clear();
      expected.clear();
    } else if (dice < 12) {
      parts.erase(name);
      expected.erase(name);
    } else if (dice < 30) {
      const std::string value = random_value();
      parts.put(name, value);
      expected[name] = value;
    } else if (dice < 38) {
      std::string found = "(none)";
      parts.read(name, [&](std::string_view one) { found = one; });
      const auto at = expected.find(name);
      EXPECT_EQ(found, at == expected.end() ? "(none)" : at->second);
    } else {
      EXPECT_EQ(all_parts(parts), expected);
    }
  }
  item_change next_change(item_parts& parts, whole_item& expected, std::string& value) {
    item_change change;
    const std::uint64_t dice = below(20);
    if (dice == 0) {
      change.what = kind::erase;
      return change;
    }
    value = std::to_string(expected.parts.size());
    change.what = kind::put;
    change.front = value;
    if (below(4) == 0) change.expires_ms = now_ms_ + static_cast<std::int64_t>(below(2'000));
    if (dice == 1) {  // a string, which loses the parts
      expected.parts.clear();
      expected.type = 0;
    } else if (dice == 2 || expected.type == 0) {
      const auto type = static_cast<std::uint8_t>(1 + below(4));
      if (type != expected.type && expected.type != 0) {
        parts.clear();
        expected.parts.clear();
        value = "0";
        change.front = value;
      }
      expected.type = type;
    }
    change.type = expected.type;
    return change;
  }

  [[nodiscard]] std::int64_t stored_time() const {
    return erase_at_ms_ != 0 && now_ms_ >= erase_at_ms_ ? std::max(now_ms_, erase_at_ms_) : now_ms_;
  }
  void erase_everything() {
    if (below(2) == 0) {
      stored_->erase_all(now_ms_, 0);
      model_.clear();
      erase_at_ms_ = 0;
      return;
    }
    std::erase_if(model_, [&](const auto& each) { return !is_live(each.second); });
    erase_at_ms_ = now_ms_ + 1 + static_cast<std::int64_t>(below(3'000));
    stored_->erase_all(now_ms_, erase_at_ms_);
  }
  void sweep_some() { stored_->sweep(now_ms_, 1 + below(20)); }

  void work_together() {
    const bool throws = below(4) == 0;
    const auto work = [&] {
      for (std::uint64_t left = below(15); left != 0; --left) {
        if (below(20) == 0) {
          erase_everything();
        } else if (below(15) == 0) {
          stored_->together([&] { call(); });
        } else {
          call();
        }
      }
      if (throws) throw std::runtime_error("after its changes");
    };
    if (throws) {
      ASSERT_THROW(stored_->together(work), std::runtime_error);
    } else {
      stored_->together(work);
    }
  }

  served_store stored_;
  std::map<std::string, model_item> model_;
  std::mt19937_64 random_;
  std::int64_t now_ms_ = noon_ms;
  std::int64_t erase_at_ms_ = 0;
};

void compare(space_and_model& both, int steps, bool opens) {
  for (int i = 1; i <= steps; ++i) {
    both.step();
    if (i % 300 == 0) both.compare_all();
    if (opens && i % 1'000 == 0) both.open_again();
    if (::testing::Test::HasFailure()) FAIL() << "after " << i << " calls";
  }
}

class stored_parts_and_the_model : public ::testing::TestWithParam<place> {};

TEST_P(stored_parts_and_the_model, agree_over_random_calls) {
  space_and_model both(GetParam(), 20'261'129 + static_cast<std::uint64_t>(GetParam()));
  compare(both, 20'000, GetParam() != place::ordinary_records);
}

TEST(StoredPartsWithSync, agree_with_the_model) {
  space_and_model both(place::record_disk, 7);
  both.use_sync();
  both.open_again();
  compare(both, 3'000, true);
}

INSTANTIATE_TEST_SUITE_P(media, stored_parts_and_the_model,
                         ::testing::Values(place::record_files, place::record_disk,
                                           place::memory_files, place::disk,
                                           place::ordinary_records),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace outlast::server
