// Stores of the record engine in pools of a test.
#pragma once

#include <outlast/db/detail/engine.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/pool.hpp>
#include <src/db/records/record_engine.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace outlast::store_detail::records {

/// Segments and pages of a few records.
struct small_shape : usual_shape {
  static constexpr unsigned leaf_slots = 4;
  static constexpr unsigned page_keys = 3;
  static constexpr std::size_t key_locks = 8;
  static constexpr std::size_t min_segment_bytes = 4096;
  static constexpr std::size_t max_segment_bytes = 16384;
  static constexpr bool large_pages = false;
};

/// The same on a disk. Marks are small, so that they list few segments.
struct small_marked_shape : small_shape {
  static constexpr bool groups_syncs = true;
  static constexpr std::size_t mark_bytes = 256;
};

template <class Domain, class Shape>
struct variant {
  using domain_type = Domain;
  using shape = Shape;
  using engine_type = record_engine<Domain, Shape>;
};

using content = std::map<std::string, std::string>;

inline void add_entry(const cursor& here, content& to) {
  EXPECT_TRUE(here.is_intact());
  EXPECT_TRUE(to.emplace(here.here().key, here.here().value).second);
}
inline content content_of(const snapshot& at, bool backwards = false) {
  content all;
  const auto here = at.iterate();
  if (backwards) {
    for (here->seek_to_last(); here->is_valid(); here->prev()) add_entry(*here, all);
  } else {
    for (here->seek_to_first(); here->is_valid(); here->next()) add_entry(*here, all);
  }
  return all;
}

template <class Variant>
class record_engines : public testing::Test {
 public:
  using engine_type = typename Variant::engine_type;

  record_engines() {
    pool.options().format_version = 2;
    open();
  }

  void open(store_options wanted = {}) {
    if (wanted.order_name.empty()) wanted.order_name = "by bytes";
    wanted.max_unsynced_time = std::chrono::milliseconds(10);
    store = std::make_unique<engine_type>(
        std::shared_ptr<basic_pool<typename Variant::domain_type>>(&*pool, [](auto*) {}), wanted,
        false, nullptr, index);
  }
  void kill_and_open() {
    store.reset();
    pool.abandon();
    pool.open();
    open();
  }
  void close_and_open() {
    store->close();
    store.reset();
    pool.abandon();
    pool.open();
    open();
  }
  /// Applies a random change of some of `keys` keys. `erasures`: of eight single changes.
  void change(std::mt19937_64& random, std::uint64_t keys, unsigned erasures, content& model);
  void expect_content(const content& expected) {
    EXPECT_EQ(store->check(), "");
    EXPECT_EQ(store->keys(), expected.size());
    const auto now = store->take_snapshot();
    EXPECT_EQ(content_of(*now), expected);
    EXPECT_EQ(content_of(*now, true), expected);
    std::string value;
    for (const auto& [key, held] : expected) {
      ASSERT_EQ(store->get(key, value, true), lookup_status::found);
      ASSERT_EQ(value, held);
    }
  }

  std::shared_ptr<kept_region> index;  ///< nullptr: in ordinary memory
  test::temp_pool<typename Variant::domain_type> pool{std::size_t{16} << 20};
  std::unique_ptr<engine_type> store;
};

inline std::string random_value(std::mt19937_64& random) {
  const std::size_t bytes = random() % 64 == 0 ? random() % 9000 : random() % 80;
  return std::string(bytes, static_cast<char>('a' + random() % 26));
}

template <class Variant>
void record_engines<Variant>::change(std::mt19937_64& random, std::uint64_t keys, unsigned erasures,
                                     content& model) {
  const auto some_key = [&] { return "k" + std::to_string(random() % keys); };
  const std::string key = some_key();
  const std::uint64_t kind = random() % 8;
  if (kind < erasures) {
    store->erase(key, false);
    model.erase(key);
  } else if (kind == 7) {
    changes batch;
    for (int k = 0; k < 5; ++k) {
      const std::string one = some_key();
      if (random() % 8 < erasures) {
        batch.erase(one);
        model.erase(one);
      } else {
        model[one] = random_value(random);
        batch.put(one, model[one]);
      }
    }
    store->apply(std::move(batch), true);
  } else {
    model[key] = random_value(random);
    store->put(key, model[key], true);
  }
}

}  // namespace outlast::store_detail::records
