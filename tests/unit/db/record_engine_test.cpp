// The record engine in pools in memory and in files: beside a map, after kills, with snapshots.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/process.hpp>
#include <tests/support/reasons.hpp>
#include <tests/unit/db/record_engines.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace outlast::store_detail::records {
namespace {

using variants =
    testing::Types<variant<domain::process, small_shape>, variant<domain::adr, small_shape>,
                   variant<domain::process, usual_shape>, variant<domain::adr, small_marked_shape>>;
TYPED_TEST_SUITE(record_engines, variants);

TYPED_TEST(record_engines, hold_what_a_map_holds) {
  std::mt19937_64 random(3);
  content model;
  for (int life = 0; life < 6; ++life) {
    for (int i = 0; i < 400; ++i) this->change(random, 300, 1, model);
    this->expect_content(model);
    if (life % 2 == 0) {
      this->kill_and_open();
    } else {
      this->close_and_open();
    }
    this->expect_content(model);
  }
}

TYPED_TEST(record_engines, keep_a_snapshot_as_it_was) {
  std::mt19937_64 random(5);
  content model;
  std::vector<std::pair<std::unique_ptr<snapshot>, content>> kept;
  for (int i = 0; i < 900; ++i) {
    const std::string key = "k" + std::to_string(random() % 40);
    if (random() % 5 == 0) {
      changes batch;
      batch.erase(key);
      batch.put("other", std::to_string(i));
      this->store->apply(std::move(batch), false);
      model.erase(key);
      model["other"] = std::to_string(i);
    } else {
      this->store->put(key, std::to_string(i), false);
      model[key] = std::to_string(i);
    }
    if (random() % 20 == 0) kept.emplace_back(this->store->take_snapshot(), model);
    if (kept.size() > 3) {
      const std::size_t which = random() % kept.size();
      EXPECT_EQ(content_of(*kept[which].first), kept[which].second);
      EXPECT_EQ(content_of(*kept[which].first, true), kept[which].second);
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (i % 100 == 0) this->store->collect();
  }
  for (const auto& [then, held] : kept) EXPECT_EQ(content_of(*then), held);
  kept.clear();
  this->store->collect();
  this->expect_content(model);
}

/// A snapshot that is kept for long does not keep each version that came after it.
TYPED_TEST(record_engines, keep_only_versions_that_a_snapshot_sees) {
  const std::string value(40, 'v');
  const auto retained = [this] { return this->store->records().kept_bytes(); };
  this->store->put("k", value, false);
  const auto first = this->store->take_snapshot();
  this->store->put("k", value + "!", false);
  const std::size_t one = retained();
  EXPECT_GE(one, value.size());
  for (int i = 0; i < 1000; ++i) {
    this->store->put("k", value, false);
    changes batch;
    batch.put("k", value);
    batch.put("other", value);
    this->store->apply(std::move(batch), false);
  }
  EXPECT_LE(retained(), 2 * one);
  EXPECT_EQ(content_of(*first), (content{{"k", value}}));
  // Each of these sees another version, and ends.
  for (int i = 0; i < 100; ++i) {
    const auto then = this->store->take_snapshot();
    this->store->put("k", value + std::to_string(i), false);
    EXPECT_EQ(content_of(*then)["k"], i == 0 ? value : value + std::to_string(i - 1));
  }
  this->store->collect();
  EXPECT_LE(retained(), 3 * one);
  EXPECT_EQ(content_of(*first), (content{{"k", value}}));
  this->expect_content({{"k", value + "99"}, {"other", value}});
}

TYPED_TEST(record_engines, seek_to_keys_in_both_directions) {
  for (int i = 0; i < 200; i += 2) this->store->put(std::to_string(1000 + i), "v", false);
  this->store->put("zz", std::string(5000, 'z'), false);
  const auto now = this->store->take_snapshot();
  const auto at = now->iterate();
  EXPECT_FALSE(at->is_valid());
  for (int i = 0; i < 199; ++i) {
    at->seek(std::to_string(1000 + i));
    ASSERT_TRUE(at->is_valid());
    EXPECT_EQ(at->here().key, i == 199 ? "zz" : std::to_string(1000 + (i + 1) / 2 * 2));
  }
  at->seek("1");
  EXPECT_EQ(at->here().key, "1000");
  at->prev();
  EXPECT_FALSE(at->is_valid());
  at->seek("zzz");
  EXPECT_FALSE(at->is_valid());
  at->seek_to_last();
  EXPECT_EQ(at->here().key, "zz");
  EXPECT_EQ(at->here().value, std::string(5000, 'z'));
  EXPECT_TRUE(at->is_intact());
  at->prev();
  EXPECT_EQ(at->here().key, "1198");
  at->seek(at->here().key);
  EXPECT_EQ(at->here().key, "1198");
}

TYPED_TEST(record_engines, erase_ranges_in_a_batch) {
  for (int i = 0; i < 100; ++i) this->store->put(std::to_string(100 + i), "old", false);
  changes batch;
  batch.put("1105", "before");
  batch.erase_range("110", "120");
  batch.put("115", "after");
  this->store->apply(std::move(batch), true);
  content expected;
  for (int i = 0; i < 100; ++i) {
    if (i < 10 || i >= 20) expected[std::to_string(100 + i)] = "old";
  }
  expected["115"] = "after";
  this->expect_content(expected);
  this->kill_and_open();
  this->expect_content(expected);
}

TYPED_TEST(record_engines, commit_transactions_only_if_what_they_read_holds) {
  this->store->put("a", "1", false);
  this->store->put("c", "3", false);
  read_set seen;
  seen.expect("a", "1");
  seen.expect("b", std::nullopt);
  changes write;
  write.put("b", "2");
  EXPECT_TRUE(this->store->holds(seen));
  EXPECT_TRUE(this->store->apply_if(read_set(seen), changes(write), true));
  EXPECT_FALSE(this->store->holds(seen));
  EXPECT_FALSE(this->store->apply_if(read_set(seen), changes(write), true));
  read_set range;
  range.expect(read_set::range{"a", "d", false, {{"a", "1"}, {"b", "2"}, {"c", "3"}}});
  EXPECT_TRUE(this->store->holds(range));
  changes other;
  other.put("bb", "phantom");
  this->store->apply(std::move(other), false);
  EXPECT_FALSE(this->store->apply_if(read_set(range), changes(write), true));
  this->expect_content({{"a", "1"}, {"b", "2"}, {"bb", "phantom"}, {"c", "3"}});
}

TYPED_TEST(record_engines, have_long_keys_and_values) {
  content model;
  for (const std::size_t bytes : {1000U, 5000U, 70000U, 300000U, 1000000U}) {
    const std::string key = std::string(bytes / 10, 'k') + std::to_string(bytes);
    model[key] = std::string(bytes, 'v');
    this->store->put(key, model[key], true);
    model["batch" + key] = std::string(bytes, 'w');
    changes two;
    two.put("batch" + key, model["batch" + key]);
    two.put("beside", std::to_string(bytes));
    model["beside"] = std::to_string(bytes);
    this->store->apply(std::move(two), true);
  }
  model[""] = "";
  this->store->put("", "", true);
  this->expect_content(model);
  this->kill_and_open();
  this->expect_content(model);
}

TYPED_TEST(record_engines, estimate_the_bytes_between_keys) {
  constexpr int keys = 20000;
  for (int i = 0; i < keys; ++i)
    this->store->put(std::to_string(100000 + i), std::string(94, 'v'), false);
  const auto all = static_cast<double>(this->store->bytes_between("", "2"));
  EXPECT_NEAR(all / (keys * 100.0), 1.0, 0.04);
  const auto some = static_cast<double>(this->store->bytes_between("102000", "103000"));
  EXPECT_NEAR(some / (1000 * 100.0), 1.0, 0.04);
  EXPECT_EQ(this->store->bytes_between("2", "1"), 0U);
}

TYPED_TEST(record_engines, refuse_another_order) {
  this->store->put("a", "1", true);
  this->store.reset();
  store_options other;
  other.order_name = "another";
  this->pool.abandon();
  this->pool.open();
  EXPECT_EQ(test::reason_of([&] { this->open(other); }), errc::bad_argument);
  this->open();
  this->expect_content({{"a", "1"}});
}

TYPED_TEST(record_engines, that_are_full_have_lost_nothing) {
  content model;
  bool is_full = false;
  for (int i = 0; !is_full && i < 5000; ++i) {
    const std::string key = std::to_string(i);
    try {
      this->store->put(key, std::string(20000, 'x'), true);
      model[key] = std::string(20000, 'x');
    } catch (const out_of_space&) {
      is_full = true;
    }
  }
  EXPECT_TRUE(is_full);
  EXPECT_THROW(this->store->put("a", std::string(20000, 'x'), true), out_of_space);
  this->expect_content(model);
  this->kill_and_open();
  this->expect_content(model);
}

TYPED_TEST(record_engines, serve_several_threads) {
  // Batches move amounts between accounts, so that each snapshot has the same sum.
  constexpr int accounts = 24;
  constexpr int threads = 3;
  constexpr int amount = 1000;
  const auto name = [](std::uint64_t i) { return "account" + std::to_string(i); };
  for (std::uint64_t i = 0; i < accounts; ++i) {
    this->store->put(name(i), std::to_string(amount), false);
  }
  std::atomic<bool> ends{false};
  std::atomic<int> wrong{0};
  const auto sum_of = [&](const snapshot& at) {
    long sum = 0;
    for (const auto& [key, value] : content_of(at)) {
      if (key.starts_with("account")) sum += std::stol(value);
    }
    return sum;
  };
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      for (int i = 0; i < 1500; ++i) {
        const std::string from = name(random() % accounts);
        const std::string to = name(random() % accounts);
        if (from == to) continue;
        std::string held;
        std::string more;
        (void)this->store->get(from, held, true);
        (void)this->store->get(to, more, true);
        read_set seen;
        seen.expect(from, held);
        seen.expect(to, more);
        changes move;
        move.put(from, std::to_string(std::stol(held) - 1));
        move.put(to, std::to_string(std::stol(more) + 1));
        (void)this->store->apply_if(std::move(seen), std::move(move), false);
        this->store->put("own" + std::to_string(t), std::to_string(i), false);
      }
    });
  }
  std::thread reader([&] {
    while (!ends) {
      if (sum_of(*this->store->take_snapshot()) != accounts * amount) ++wrong;
    }
  });
  for (std::thread& each : all) each.join();
  ends = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(this->store->check(), "");
  EXPECT_EQ(sum_of(*this->store->take_snapshot()), accounts * amount);
  this->kill_and_open();
  EXPECT_EQ(sum_of(*this->store->take_snapshot()), accounts * amount);
}

}  // namespace
}  // namespace outlast::store_detail::records
