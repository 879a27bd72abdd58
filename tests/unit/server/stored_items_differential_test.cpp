// Goal: the items of a store behave as the reference in ordinary memory, also over openings.
// Method: 30,000 random operations on each of five media, applied to both. Results and items are
// compared after each operation, all items by a walk every few hundred, and counts after a sweep.
#include <tests/support/fake_items.hpp>
#include <tests/unit/server/stored_stand.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::server {
namespace {

using kind = item_change::kind;
using test::place;

constexpr std::size_t head_and_hash_bytes = 40 + 9;

/// The parts of an item that two spaces have in common.
struct seen_item {
  std::string value;
  std::uint32_t flags = 0;
  std::int64_t expires_ms = 0;
  item_marks marks;
  friend bool operator==(const seen_item&, const seen_item&) = default;
  friend void PrintTo(const seen_item& one, std::ostream* to) {
    *to << one.value << ' ' << one.flags << ' ' << one.expires_ms << ' ' << one.marks.is_stale
        << one.marks.has_winner;
  }
};
using seen_items = std::map<std::string, seen_item>;

seen_item parts_of(const item& one) {
  return {std::string(one.value), one.flags, one.expires_ms, one.marks};
}

/// A decision that depends on its parameters and the item alone, thus both spaces decide equally.
struct decision {
  item_change change;
  std::string text;
  unsigned shape = 0;

  item_change operator()(const item* old) const {
    item_change made = change;
    made.front = text;
    if (old == nullptr) return made;
    if (shape == 1 && old->value.size() < 200) made.back = old->value;   // prepend
    if (shape == 2 && old->value.size() < 200) made.front = old->value;  // append
    if (shape == 2) made.back = text;
    if (shape == 3) made.front = old->value.substr(old->value.size() / 2);
    if (shape == 4 && old->flags % 2 == 0) made.what = kind::nothing;
    return made;
  }
};

class two_spaces {
 public:
  two_spaces(place where, std::uint64_t seed) : stored_(where), random_(seed) {}

  void step() {
    now_ms_ += below(4) == 0 ? static_cast<std::int64_t>(below(900)) : 0;
    const std::uint64_t dice = below(200);
    if (dice == 0) return erase_everything();
    if (dice < 15) return work_together();
    if (dice < 20) return sweep_some();
    if (below(3) == 0) return look(random_key());
    change(random_key(), random_decision());
  }
  /// Compares all items and the counts. The walks begin with the first item.
  void compare_all() {
    const seen_items expected = walk(fake_);
    ASSERT_EQ(walk(*stored_), expected);
    ASSERT_GE(stored_->items(), expected.size());
    if (below(4) != 0) return;
    sweep_all(*stored_, now_ms_);
    ASSERT_EQ(stored_->items(), expected.size());
    std::uint64_t bytes = 0;
    for (const auto& [key, one] : expected) {
      bytes += key.size() + one.value.size() + head_and_hash_bytes;
    }
    ASSERT_EQ(stored_->bytes(), bytes);
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
  std::string random_key() { return "key " + std::to_string(below(150)); }

  decision random_decision() {
    decision made;
    const std::uint64_t dice = below(10);
    made.change.what = dice < 6   ? kind::put
                       : dice < 8 ? kind::adjust
                       : dice < 9 ? kind::erase
                                  : kind::nothing;
    made.change.flags = static_cast<std::uint32_t>(random_());
    if (below(3) == 0) made.change.expires_ms = now_ms_ + static_cast<std::int64_t>(below(5'000));
    made.change.marks = {.is_stale = below(2) == 0, .has_winner = below(2) == 0};
    if (below(12) == 0) {
      made.change.unique = below(2) == 0 ? 1 + below(1'000) : last_unique_ + below(500'000);
    }
    if (below(2) == 0) made.change.how = use::counts;
    made.text = std::string(below(60), static_cast<char>('a' + below(26)));
    made.shape = static_cast<unsigned>(below(5));
    return made;
  }

  void change(const std::string& key, const decision& how) {
    const change_result expected = fake_.modify(key, now_ms_, how);
    const change_result done = stored_->modify(key, now_ms_, how);
    ASSERT_EQ(done.changed, expected.changed) << key;
    if (!done.changed) {
      ASSERT_EQ(done.unique, numbers_.of(key, expected.unique != 0));
    } else if (how.change.what != kind::erase) {
      note_number(key, how, done.unique);
    }
    look(key);
  }
  /// A put has a new number or the chosen one; an adjustment leaves it.
  void note_number(const std::string& key, const decision& how, std::uint64_t unique) {
    if (how.change.what == kind::adjust) {
      ASSERT_EQ(unique, numbers_.of(key, true));
      return;
    }
    if (how.change.unique != 0) {
      ASSERT_EQ(unique, how.change.unique);
    } else {
      ASSERT_GT(unique, last_unique_);
    }
    last_unique_ = std::max(last_unique_, unique);
    numbers_.set(key, unique);
  }
  void look(const std::string& key) {
    seen_item expected;
    seen_item found;
    std::uint64_t unique = 0;
    const bool is_there =
        fake_.read(key, now_ms_, use::counts, [&](const item& one) { expected = parts_of(one); });
    ASSERT_EQ(stored_->read(key, now_ms_, use::counts,
                            [&](const item& one) {
                              found = parts_of(one);
                              unique = one.unique;
                            }),
              is_there)
        << key;
    ASSERT_EQ(found, expected) << key;
    ASSERT_EQ(unique, numbers_.of(key, is_there)) << key;
  }

  void erase_everything() {
    const std::int64_t from_ms =
        below(2) == 0 ? 0 : now_ms_ + static_cast<std::int64_t>(below(3'000));
    fake_.erase_all(now_ms_, from_ms);
    stored_->erase_all(now_ms_, from_ms);
  }
  void work_together() {
    const bool throws = below(4) == 0;
    const auto work = [&] {
      for (std::uint64_t left = below(12); left != 0; --left) {
        if (below(10) == 0) {
          const seen_items expected = walk(fake_);
          ASSERT_EQ(walk(*stored_), expected);
        } else if (below(15) == 0) {
          erase_everything();
        } else if (below(15) == 0) {
          stored_->together([&] { change(random_key(), random_decision()); });
        } else {
          change(random_key(), random_decision());
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
  void sweep_some() { stored_->sweep(now_ms_, 1 + below(40)); }

  seen_items walk(item_space& space) {
    seen_items found;
    std::uint64_t cursor = 0;
    do {
      cursor =
          space.scan(cursor, 1 + below(50), now_ms_, [&](std::string_view key, const item& one) {
            EXPECT_TRUE(found.emplace(key, parts_of(one)).second) << key << " is visited twice";
          });
    } while (cursor != 0);
    return found;
  }

  /// The number of each item that is there, or was.
  class numbers {
   public:
    [[nodiscard]] std::uint64_t of(const std::string& key, bool is_there) {
      return is_there ? all_[key] : 0;
    }
    void set(const std::string& key, std::uint64_t unique) { all_[key] = unique; }

   private:
    std::map<std::string, std::uint64_t> all_;
  };

  test::fake_items fake_;
  served_store stored_;
  std::mt19937_64 random_;
  std::int64_t now_ms_ = noon_ms;
  std::uint64_t last_unique_ = 0;
  numbers numbers_;
};

class stored_items_and_the_reference : public ::testing::TestWithParam<place> {};

void compare(two_spaces& both, int steps, bool opens) {
  for (int i = 1; i <= steps; ++i) {
    both.step();
    if (i % 300 == 0) both.compare_all();
    if (opens && i % 2'500 == 0) both.open_again();
    if (::testing::Test::HasFatalFailure()) FAIL() << "after " << i << " operations";
  }
}

TEST_P(stored_items_and_the_reference, agree_over_random_operations) {
  two_spaces both(GetParam(), 20'261'129 + static_cast<std::uint64_t>(GetParam()));
  compare(both, 30'000, GetParam() != place::ordinary_records);
}

TEST(StoredItemsWithSync, agree_with_the_reference) {
  two_spaces both(place::record_disk, 7);
  both.use_sync();
  both.open_again();
  compare(both, 3'000, true);
}

INSTANTIATE_TEST_SUITE_P(media, stored_items_and_the_reference,
                         ::testing::Values(place::record_files, place::record_disk,
                                           place::memory_files, place::disk,
                                           place::ordinary_records),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace outlast::server
