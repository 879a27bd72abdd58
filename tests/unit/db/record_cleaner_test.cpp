// The space of the record engine: it follows the data, and returning it loses nothing.
#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/unit/db/record_engines.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {
namespace {

template <class Variant>
class cleaned_engines : public record_engines<Variant> {
 protected:
  std::size_t segment_bytes() {
    const space_use use = this->store->space();
    return use.live + use.retained;
  }
  /// Waits for the cleaner's thread, which other programs may delay.
  void await_cleaner() {
    for (int i = 0; i < 1000 && this->store->records().is_cleaning_useful(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  /// With small segments, leaves room for few of them: a full store of thousands takes long.
  void put_ballast(content& model) {
    if constexpr (Variant::shape::max_segment_bytes < (std::size_t{64} << 10)) {
      model["ballast"] = std::string(std::size_t{14} << 20, 'b');
      this->store->put("ballast", model["ballast"], true);
    }
  }
  /// Puts keys with long values, from number `keys` on, until the store is full.
  void fill(int& keys, content& model) {
    for (bool is_full = false; !is_full;) {
      const std::string key = "key" + std::to_string(keys);
      try {
        this->store->put(key, std::string(3000, 'x'), true);
        model[key] = std::string(3000, 'x');
        ++keys;
      } catch (const out_of_space&) {
        is_full = true;
      }
    }
  }
  /// Opens the store again without threads: spoil_values() reads memory that they write.
  void open_without_threads() {
    pool_detail::test_hooks().stores_have_no_threads = true;
    this->kill_and_open();
    pool_detail::test_hooks().stores_have_no_threads = false;
  }
  /// Changes the first byte of each value that begins with `text`. Returns their number.
  /// Requires a store without threads.
  int spoil_values(const std::string& text) {
    auto* const first = reinterpret_cast<char*>(this->pool->base());
    const std::string_view all(first, this->pool->mapped_bytes());
    int count = 0;
    for (std::size_t at = all.find(text); at != all.npos; at = all.find(text, at + 1), ++count) {
      first[at] = '!';
    }
    return count;
  }
  void put_all(int keys, char fill, content& model) {
    for (int i = 0; i < keys; ++i) {
      const std::string key = "key" + std::to_string(i);
      model[key] = std::string(100, fill);
      this->store->put(key, model[key], false);
    }
  }
};

using variants =
    testing::Types<variant<domain::process, small_shape>, variant<domain::adr, small_shape>,
                   variant<domain::process, usual_shape>, variant<domain::adr, small_marked_shape>>;
TYPED_TEST_SUITE(cleaned_engines, variants);

TYPED_TEST(cleaned_engines, need_no_more_space_after_many_rounds) {
  content model;
  for (int round = 0; round < 40; ++round) {
    this->put_all(2000, static_cast<char>('a' + round % 26), model);
  }
  // 40 rounds are 11 MB of records; what counts is 0.3 MB.
  EXPECT_LT(this->segment_bytes(), std::size_t{3} << 20);
  this->expect_content(model);
  this->kill_and_open();
  this->expect_content(model);
}

TYPED_TEST(cleaned_engines, know_their_tombstones_after_an_opening) {
  content model;
  this->put_all(500, 'a', model);
  for (int i = 0; i < 500; ++i) this->store->erase("key" + std::to_string(i), false);
  this->kill_and_open();
  EXPECT_GE(this->store->records().tombstones(), 0);
  this->store->compact();
  EXPECT_EQ(this->store->records().tombstones(), 0);
  this->expect_content({});
}

TYPED_TEST(cleaned_engines, return_all_space_that_does_not_count) {
  content model;
  for (int round = 0; round < 3; ++round) this->put_all(2000, 'a', model);
  this->store->collect();
  const space_use use = this->store->space();
  EXPECT_GE(use.live, std::size_t{2000} * 100);
  EXPECT_LE(use.live + use.retained, use.live * 5 / 4 + 2 * usual_shape::min_segment_bytes);
  this->expect_content(model);
  for (int i = 0; i < 2000; ++i) {
    if (i % 100 != 0) this->store->erase("key" + std::to_string(i), false);
    if (i % 100 != 0) model.erase("key" + std::to_string(i));
  }
  this->store->collect();
  this->store->collect();
  EXPECT_LE(this->store->space().live, std::size_t{20} * 200);
  this->expect_content(model);
  this->kill_and_open();
  this->expect_content(model);
}

TYPED_TEST(cleaned_engines, return_the_space_of_values_that_were_damaged_and_do_not_count) {
  this->open_without_threads();
  content model;
  for (int i = 0; i < 2000; ++i) {
    const char* const value = i % 20 == 0 ? "to be spoilt" : "not spoilt";
    this->store->put("key" + std::to_string(i), value + std::string(88, 'a'), true);
  }
  ASSERT_GE(this->spoil_values("to be spoilt"), 100);
  this->put_all(2000, 'b', model);
  this->store->collect();
  const space_use use = this->store->space();
  EXPECT_LE(use.retained, usual_shape::min_segment_bytes);
  this->expect_content(model);
}

TYPED_TEST(cleaned_engines, keep_values_that_were_damaged_and_count) {
  this->open_without_threads();
  content model;
  this->put_all(500, 'a', model);
  this->store->put("spoilt", "to be spoilt", true);
  this->put_all(500, 'b', model);
  ASSERT_GE(this->spoil_values("to be spoilt"), 1);
  for (int i = 0; i < 3; ++i) this->store->collect();
  std::string value;
  EXPECT_EQ(this->store->get("spoilt", value, true), lookup_status::damaged);
  for (const auto& [key, held] : model) {
    ASSERT_EQ(this->store->get(key, value, true), lookup_status::found);
    ASSERT_EQ(value, held);
  }
  EXPECT_NE(this->store->check(), "");
}

TYPED_TEST(cleaned_engines, need_no_more_space_after_many_short_lives) {
  content model;
  for (int life = 0; life < 30; ++life) {
    model[std::to_string(life)] = "v";
    this->store->put(std::to_string(life), "v", true);
    this->kill_and_open();
  }
  this->store->collect();
  // The crash of each life has ended a segment early.
  EXPECT_LE(this->pool->usage().root_bytes, 20 * usual_shape::min_segment_bytes);
  this->expect_content(model);
}

TYPED_TEST(cleaned_engines, serve_as_a_queue_of_new_keys) {
  std::deque<int> held;
  content model;
  std::size_t index_bytes = 0;
  constexpr bool is_slow = test::under_address_sanitizer || test::under_thread_sanitizer;
  constexpr int items = is_slow ? 12'000 : 40'000;
  for (int i = 0; i < items; ++i) {
    const auto name = [](int number) { return "item" + std::to_string(1'000'000 + number); };
    model[name(i)] = std::to_string(i);
    this->store->put(name(i), model[name(i)], false);
    held.push_back(i);
    if (held.size() > 200) {
      this->store->erase(name(held.front()), false);
      model.erase(name(held.front()));
      held.pop_front();
    }
    if (i % 4000 == 0) this->await_cleaner();
    if (i == items / 2) index_bytes = this->store->volatile_bytes();
  }
  EXPECT_LT(this->segment_bytes(), std::size_t{3} << 20);
  EXPECT_LT(this->store->volatile_bytes(), 2 * index_bytes + (std::size_t{1} << 20));
  this->expect_content(model);
  this->store->collect();
  this->store->collect();
  EXPECT_LT(this->store->volatile_bytes(), std::size_t{256} << 10);
  this->expect_content(model);
  this->kill_and_open();
  this->expect_content(model);
}

TYPED_TEST(cleaned_engines, hold_what_a_map_holds_between_kills) {
  std::mt19937_64 random(17);
  content model;
  std::vector<std::pair<std::unique_ptr<snapshot>, content>> kept;
  const auto look = [&] {
    for (const auto& [then, all] : kept) {
      ASSERT_EQ(content_of(*then), all);
    }
  };
  for (int life = 0; life < 12; ++life) {
    for (int i = 0; i < 500; ++i) {
      this->change(random, 60, 3, model);
      if (random() % 25 == 0) this->store->compact();
      if (random() % 60 == 0) kept.emplace_back(this->store->take_snapshot(), model);
      if (kept.size() > 2) kept.erase(kept.begin());
      if (random() % 50 == 0) look();
    }
    this->expect_content(model);
    look();
    kept.clear();
    if (life % 3 == 0) {
      this->close_and_open();
    } else {
      this->kill_and_open();
    }
    this->expect_content(model);
  }
}

/// The cleaner's copies must leave the space for erasures, also after an opening.
TYPED_TEST(cleaned_engines, that_are_full_can_erase_after_their_cleaner) {
  content model;
  this->put_ballast(model);
  int keys = 0;
  this->fill(keys, model);
  for (int round = 0; round < 5; ++round) {
    this->open_without_threads();
    try {
      while (this->store->records().clean_if_useful(std::size_t{1} << 20)) {
      }
      this->store->records().prepare();
    } catch (const out_of_space&) {
      // The cleaner waits for space.
    }
    for (int i = round; i < keys; i += 5) {
      const std::string key = "key" + std::to_string(i);
      ASSERT_NO_THROW(this->store->erase(key, true)) << key << " in round " << round;
      model.erase(key);
    }
    this->expect_content(model);
  }
}

TYPED_TEST(cleaned_engines, that_are_full_can_erase_and_write_again) {
  content model;
  this->put_ballast(model);
  int keys = 0;
  this->fill(keys, model);
  this->expect_content(model);
  const int first_keys = keys;
  for (int round = 0; round < 3; ++round) {
    // Erasures of single keys, in any order, never need more space than there is.
    for (int i = round; i < keys; i += 3) {
      this->store->erase("key" + std::to_string(i), true);
      model.erase("key" + std::to_string(i));
    }
    for (int i = 0; i < first_keys / 4; ++i) {
      const std::string key = "new" + std::to_string(i);
      this->store->put(key, std::string(3000, 'y'), true);
      model[key] = std::string(3000, 'y');
    }
    this->expect_content(model);
    this->kill_and_open();
    this->expect_content(model);
    this->fill(keys, model);
  }
}

TYPED_TEST(cleaned_engines, overwrite_in_a_store_that_is_almost_full) {
  content model;
  this->put_ballast(model);
  int keys = 0;
  try {
    for (;; ++keys) {
      this->store->put("key" + std::to_string(keys), std::string(1000, 'x'), true);
    }
  } catch (const out_of_space&) {
  }
  for (int i = keys * 8 / 10; i < keys; ++i) this->store->erase("key" + std::to_string(i), true);
  keys = keys * 8 / 10;
  for (int i = 0; i < keys; ++i) model["key" + std::to_string(i)] = std::string(1000, 'x');
  std::mt19937_64 random(3);
  for (int i = 0; i < keys; ++i) {
    const std::string key = "key" + std::to_string(random() % static_cast<std::uint64_t>(keys));
    model[key] = std::string(1000, static_cast<char>('a' + random() % 26));
    this->store->put(key, model[key], true);
  }
  this->expect_content(model);
  this->kill_and_open();
  this->expect_content(model);
}

TYPED_TEST(cleaned_engines, return_the_space_of_old_snapshots) {
  content model;
  this->put_all(3000, 'a', model);
  auto then = this->store->take_snapshot();
  const content held = model;
  for (int round = 0; round < 4; ++round) {
    this->put_all(3000, static_cast<char>('b' + round), model);
    this->store->compact();
    ASSERT_EQ(content_of(*then), held);
  }
  this->expect_content(model);
  then.reset();
  this->store->collect();
  EXPECT_LT(this->store->space().live, std::size_t{3000} * 200);
  this->expect_content(model);
}

TYPED_TEST(cleaned_engines, let_cursors_go_on_when_keys_and_snapshots_go) {
  content model;
  this->put_all(400, 'a', model);
  for (const bool backwards : {false, true}) {
    std::unique_ptr<cursor> at = this->store->take_snapshot()->iterate();
    content seen;
    const content expected = model;
    backwards ? at->seek_to_last() : at->seek_to_first();
    for (int i = 0; at->is_valid(); ++i) {
      ASSERT_TRUE(seen.emplace(at->here().key, at->here().value).second) << at->here().key;
      // The pages around the position are joined, and records move.
      if (i % 40 == 20) {
        for (int k = 0; k < 40; ++k) {
          const std::string key = "key" + std::to_string((i * 7 + k * 13) % 400);
          this->store->erase(key, false);
          model.erase(key);
        }
        this->store->compact();
      }
      backwards ? at->prev() : at->next();
    }
    EXPECT_EQ(seen, expected);
    at.reset();
    this->store->collect();
    this->expect_content(model);
    this->put_all(400, 'b', model);
  }
}

TYPED_TEST(cleaned_engines, walk_over_pages_that_are_joined) {
  // Keys that no snapshot sees any more leave pages that a cursor still knows.
  for (int i = 0; i < 3000; ++i) this->store->put(std::to_string(10000 + i), "v", false);
  for (int i = 0; i < 3000; ++i) {
    if (i % 50 != 0) this->store->erase(std::to_string(10000 + i), false);
  }
  const auto forwards = this->store->take_snapshot()->iterate();
  const auto backwards = this->store->take_snapshot()->iterate();
  forwards->seek_to_first();
  backwards->seek_to_last();
  std::vector<std::string> up{std::string(forwards->here().key)};
  std::vector<std::string> down{std::string(backwards->here().key)};
  this->store->collect();  // joins the pages
  for (forwards->next(); forwards->is_valid(); forwards->next()) {
    up.emplace_back(forwards->here().key);
  }
  for (backwards->prev(); backwards->is_valid(); backwards->prev()) {
    down.emplace_back(backwards->here().key);
  }
  std::vector<std::string> expected;
  for (int i = 0; i < 3000; i += 50) expected.push_back(std::to_string(10000 + i));
  EXPECT_EQ(up, expected);
  EXPECT_EQ(std::vector<std::string>(down.rbegin(), down.rend()), expected);
}

TYPED_TEST(cleaned_engines, move_long_values) {
  content model;
  std::mt19937_64 random(5);
  for (int i = 0; i < 120; ++i) {
    const std::string key = "k" + std::to_string(random() % 6);
    model[key] = std::string(random() % 400'000, static_cast<char>('a' + random() % 26));
    this->store->put(key, model[key], true);
    if (i % 10 == 0) this->store->compact();
  }
  this->expect_content(model);
  this->kill_and_open();
  this->expect_content(model);
}

TYPED_TEST(cleaned_engines, serve_threads_while_they_clean) {
  constexpr int keys = 300;
  constexpr int threads = 3;
  const auto name = [](std::uint64_t i) { return "key" + std::to_string(i); };
  std::atomic<bool> ends{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  // Each thread writes its own keys, and finds what it wrote.
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      std::vector<std::string> mine(keys);
      std::string found;
      for (int i = 0; i < 6000; ++i) {
        const std::uint64_t which = random() % keys;
        const std::string key = name(which * threads + static_cast<std::uint64_t>(t));
        if (random() % 3 == 0) {
          this->store->erase(key, false);
          mine[which].clear();
        } else {
          mine[which] = std::to_string(i) + std::string(random() % 200, 'v');
          this->store->put(key, mine[which], false);
        }
        const bool is_there = this->store->get(key, found, true) == lookup_status::found;
        if (is_there != !mine[which].empty() || (is_there && found != mine[which])) ++wrong;
      }
      for (std::uint64_t i = 0; i < keys; ++i) {
        const std::string key = name(i * threads + static_cast<std::uint64_t>(t));
        const bool is_there = this->store->get(key, found, true) == lookup_status::found;
        if (is_there != !mine[i].empty() || (is_there && found != mine[i])) ++wrong;
      }
    });
  }
  std::thread cleaner([&] {
    while (!ends) {
      const auto now = this->store->take_snapshot();
      const content one = content_of(*now);
      this->store->compact();
      if (content_of(*now, true) != one) ++wrong;
    }
  });
  for (std::thread& each : all) each.join();
  ends = true;
  cleaner.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(this->store->check(), "");
}

/// A store whose thread does not work: prepare() is called by the test.
class prepared_store : public record_engines<variant<domain::process, usual_shape>> {
 public:
  prepared_store() {
    store->close();
    store.reset();
    pool.abandon();
    pool_detail::test_hooks().stores_have_no_threads = true;
    pool.open();
    open();
  }
  ~prepared_store() override { pool_detail::test_hooks().stores_have_no_threads = false; }
  void TestBody() override {}

  void put_next() {
    const std::string key = std::to_string(keys++);
    model[key] = std::string(200, 'p');
    store->put(key, model[key], true);
  }
  /// Puts until a segment is made. Returns the bytes that the pool has given since.
  std::size_t put_to_next_segment() {
    const std::size_t before = pool->usage().root_bytes;
    while (!store->records().is_preparing_useful()) put_next();
    return pool->usage().root_bytes - before;
  }

  content model;
  int keys = 0;
};

TEST(records_ahead, have_the_space_of_the_next_segment) {
  prepared_store of;
  for (int i = 0; i < 2000; ++i) of.put_next();  // segments have their largest size
  of.store->records().prepare();
  ASSERT_FALSE(of.store->records().is_preparing_useful());
  EXPECT_EQ(of.put_to_next_segment(), 0U);
  of.store->records().prepare();
  of.expect_content(of.model);
  of.kill_and_open();
  of.expect_content(of.model);
}

TEST(records_ahead, leave_no_space_unused_in_a_full_store) {
  const auto fill = [](bool prepares) {
    prepared_store of;
    try {
      for (;;) {
        of.put_next();
        if (prepares) of.store->records().prepare();
      }
    } catch (const out_of_space&) {
      of.model.erase(std::to_string(of.keys - 1));
    }
    of.expect_content(of.model);
    return of.keys;
  };
  EXPECT_EQ(fill(true), fill(false));
}

TEST(records_ahead, leave_their_space_to_long_values) {
  const auto longest = [](bool prepares) {
    prepared_store of;
    for (int i = 0; i < 2000; ++i) of.put_next();
    if (prepares) of.store->records().prepare();
    for (std::size_t bytes = std::size_t{16} << 20;; bytes -= 4096) {
      try {
        of.store->put("long", std::string(bytes, 'l'), true);
        return bytes;
      } catch (const out_of_space&) {
      }
    }
  };
  EXPECT_EQ(longest(true), longest(false));
}

TEST(records_in_memory, are_at_any_address) {
  constexpr std::size_t bytes = std::size_t{32} << 20;
  constexpr std::size_t page = 4096;
  for (const std::size_t skew : {std::size_t{0}, page, 5 * page, 15 * page}) {
    const base::anonymous_memory memory(bytes + 2 * usual_shape::min_segment_bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::size_t aligned =
        (usual_shape::min_segment_bytes - begin % usual_shape::min_segment_bytes) %
        usual_shape::min_segment_bytes;
    using pool_type = basic_pool<domain::process>;
    std::shared_ptr<pool_type> pool =
        pool_type::in_memory(memory.data() + aligned + skew, bytes, true);
    store_options wanted;
    wanted.order_name = "by bytes";
    record_engine<domain::process> store(pool, wanted, true);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 4000; ++i) {
        store.put(std::to_string(i), std::string(300, static_cast<char>('a' + round)), false);
      }
    }
    store.collect();
    EXPECT_EQ(store.check(), "") << skew;
    std::string value;
    for (int i = 0; i < 4000; ++i) {
      ASSERT_EQ(store.get(std::to_string(i), value, true), lookup_status::found) << skew;
      ASSERT_EQ(value, std::string(300, 'c'));
    }
    store.close();
  }
}

}  // namespace
}  // namespace outlast::store_detail::records
