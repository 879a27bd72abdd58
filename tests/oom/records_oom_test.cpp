// Goal: an operation of the record engine without memory has no effect, before and after a crash.
// Method: make the n-th operator new of an operation fail, or it and all that follow, for n = 1, 2,
// ... until the operation meets no failure; compare with a map.
#include "tests/oom/failing_new.hpp"

#include <outlast/db/detail/engine.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/pool.hpp>
#include <src/db/records/record_engine.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace outlast::test {
namespace {

using namespace store_detail;

/// Pages of a few keys, so that many writes split one.
struct small_shape : records::usual_shape {
  static constexpr unsigned leaf_slots = 4;
  static constexpr unsigned page_keys = 3;
  static constexpr std::size_t min_segment_bytes = 4096;
  static constexpr std::size_t max_segment_bytes = 4096;
  static constexpr bool large_pages = false;
};
using D = domain::process;
using engine_type = records::record_engine<D, small_shape>;
using content = std::map<std::string, std::string>;

class records_oom : public testing::Test {
 protected:
  static constexpr std::size_t bytes = std::size_t{8} << 20;

  records_oom() : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, bytes))) { open(true); }
  ~records_oom() override {
    store.reset();
    pool_.reset();
    std::free(memory_);
  }

  void open(bool fresh) {
    store.reset();
    pool_.reset();  // as a crash does
    pool_options how;
    how.format_version = 2;
    pool_ = basic_pool<D>::in_memory(memory_, bytes, fresh, how);
    store_options wanted;
    wanted.order_name = "by bytes";
    store = std::make_unique<engine_type>(pool_, wanted);
  }
  [[nodiscard]] content found() {
    content all;
    const auto now = store->take_snapshot();
    const auto at = now->iterate();
    for (at->seek_to_first(); at->is_valid(); at->next()) {
      EXPECT_TRUE(at->is_intact());
      all.emplace(at->here().key, at->here().value);
    }
    return all;
  }
  void compare(const std::string& when) {
    ASSERT_EQ(store->check(), "") << when;
    ASSERT_EQ(found() == model, true) << when;
    ASSERT_EQ(store->keys(), model.size()) << when;
  }

  /// Calls `write` again and again, with a later failure each time, until it meets none.
  void until_done(const std::function<void()>& write, const std::function<void(content&)>& effect) {
    for (const bool all_that_follow : {false, true}) {
      for (std::size_t n = 1;; ++n) {
        failing_calls plan{.first = n, .all_that_follow = all_that_follow};
        bool threw = false;
        calls_to_fail = &plan;
        try {
          write();
        } catch (const std::bad_alloc&) {
          threw = true;
        }
        calls_to_fail = nullptr;
        if (threw) ++failures;
        if (!threw) effect(model);
        compare("failure " + std::to_string(n));
        if (threw) {
          open(false);
          compare("a crash after failure " + std::to_string(n));
        }
        if (HasFatalFailure() || !plan.met) break;
      }
    }
  }

  std::unique_ptr<engine_type> store;
  content model;
  unsigned failures = 0;

 private:
  std::byte* memory_;
  std::shared_ptr<basic_pool<D>> pool_;
};

TEST_F(records_oom, leaves_no_effect_of_a_put_of_a_new_key) {
  for (int i = 0; i < 40; ++i) {
    const std::string key = std::to_string(i * 7 % 40);
    until_done([&] { store->put(key, "value", true); }, [&](content& to) { to[key] = "value"; });
  }
  EXPECT_GT(failures, 40U);
}

TEST_F(records_oom, leaves_no_effect_of_a_write_beside_a_snapshot) {
  for (int i = 0; i < 60; ++i) {
    const std::string key = std::to_string(i % 6);
    const std::string value = std::to_string(i);
    until_done(
        [&] {
          std::unique_ptr<snapshot> watching;
          without_failures([&] { watching = store->take_snapshot(); });
          if (i % 5 == 4) {
            store->erase(key, true);
          } else {
            store->put(key, value, true);
          }
        },
        [&](content& to) {
          if (i % 5 == 4) {
            to.erase(key);
          } else {
            to[key] = value;
          }
        });
  }
  EXPECT_GT(failures, 6U);
}

TEST_F(records_oom, leaves_no_effect_of_a_batch) {
  for (int i = 0; i < 12; ++i) {
    until_done(
        [&] {
          changes some;
          without_failures([&] {
            for (int k = 0; k < 6; ++k) some.put(std::to_string(i * 4 + k), std::to_string(i));
            some.erase(std::to_string(i * 3));
          });
          store->apply(std::move(some), true);
        },
        [&](content& to) {
          for (int k = 0; k < 6; ++k) to[std::to_string(i * 4 + k)] = std::to_string(i);
          to.erase(std::to_string(i * 3));
        });
  }
  EXPECT_GT(failures, 12U);
}

}  // namespace
}  // namespace outlast::test
