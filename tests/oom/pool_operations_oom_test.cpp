// Goal: a call of a pool without ordinary memory leaves the pool and its content in the state
// before the call or after it. Method: make the n-th operator new fail in a thread that creates,
// opens, fills, grows or closes a pool, or drops a root, for n = 1, 2, ... until it meets no
// failure; then close, open, crash and open again, and look at everything.
#include "tests/oom/map_operations.hpp"
#include "tests/oom/operation_table.hpp"
#include "tests/support/memory_folder.hpp"

#include <outlast/base/parallel.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/sets/soft_hash.hpp>
#include <outlast/tx/left_right.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace outlast::test {
namespace {

using u64 = std::uint64_t;
using table = lockfree::hash_table<u64, u64>;
using set = sets::soft_hash<u64, u64>;
using buffered = epoch::hash_map<u64, u64>;
using managed = containers::managed_map<tx::left_right<>, containers::hash_map<u64, u64>>;

/// One structure of each kind.
struct structures {
  explicit structures(pool& in)
      : first(in, "table"),
        second(in, "set"),
        third(in, "buffered"),
        fourth(in, "managed", {.replica_bytes = std::size_t{128} << 10}) {}

  table first;
  set second;
  buffered third;
  managed fourth;
};

/// A pool with one structure of each kind, closed at first.
class tested_pool {
 public:
  tested_pool() {
    options.size_bytes = std::size_t{4} << 20;
    options.capacity_bytes = std::size_t{16} << 20;
    in.reset(new pool(pool::create(path(), options)));
    attach();
    for (u64 n = 0; n < 30; ++n) {
      all->first.insert(n, n);
      all->second.insert(n, n);
      all->third.insert(n, n);
      all->fourth.insert(n, n);
    }
    for (u64 n = 0; n < 30; n += 3) all->first.erase(n);
    close();
  }

  [[nodiscard]] std::string file(const std::string& name) const {
    return (directory.path() / name).string();
  }
  [[nodiscard]] std::string path() const { return file("pool"); }
  void open() { in.reset(new pool(pool::open(path(), options))); }
  void attach() {
    all.reset();
    all = std::make_unique<structures>(*in);
  }
  void close() {
    all.reset();
    if (in != nullptr) in->close();
    in.reset();
  }
  void close_if_possible() {
    try {
      close();
    } catch (const std::bad_alloc&) {
      in.reset();
    }
  }

  /// What is wrong with what the structures hold; nothing: all is well.
  [[nodiscard]] std::string wrong() {
    if (all->first.size_estimate() != 20) return "another count of the table";
    u64 sum = 0;
    all->first.for_each([&](u64 key, u64 its) { sum += key + its; });
    if (sum != 2 * (435 - 135)) return "another table";
    if (all->second.size_estimate() != 30 || !all->second.contains(29)) return "another set";
    if (all->third.size_estimate() != 30 || !all->third.contains(29)) return "another buffered map";
    if (all->fourth.size() != 30 || all->fourth.check() != "") return "another managed map";
    const auto findings = in->check();
    for (const pool_format::finding& one : findings) {
      if (one.level == pool_format::severity::error) return one.sentence;
    }
    return "";
  }
  [[nodiscard]] std::size_t blocks() {
    std::size_t count = 0;
    all->first.arena().for_each_block([&](void*, std::size_t) { ++count; });
    return count;
  }

  scratch_folder directory;
  pool_options options;
  std::unique_ptr<pool> in;
  std::unique_ptr<structures> all;
};

struct pool_operation {
  std::string name;
  std::function<void(tested_pool&)> before;
  std::function<void(tested_pool&)> run;
  /// Returns what is wrong after it, besides what the pool holds.
  std::function<std::string(tested_pool&, bool threw)> check;
  bool succeeds = false;  ///< whatever fails
};

std::string run_cell(const pool_operation& tested, failing_calls& plan) {
  tested_pool with;
  if (tested.before) tested.before(with);
  std::string threw;
  std::thread([&] {
    calls_to_fail = &plan;
    try {
      tested.run(with);
    } catch (const std::exception& e) {
      without_failures([&] { threw = e.what(); });
    }
  }).join();
  if (!threw.empty() && !plan.met) return "threw although no call failed: " + threw;
  if (!threw.empty() && tested.succeeds) return "threw: " + threw;
  if (tested.check) {
    if (std::string wrong = tested.check(with, !threw.empty()); !wrong.empty()) return wrong;
  }
  with.close_if_possible();
  with.open();
  with.attach();
  if (std::string wrong = with.wrong(); !wrong.empty()) return wrong;
  const std::size_t blocks = with.blocks();
  with.all.reset();
  with.in.reset();  // as a crash does
  with.open();
  with.attach();
  if (std::string wrong = with.wrong(); !wrong.empty()) return wrong + ", recovered";
  if (with.blocks() == blocks) return "";
  return std::to_string(blocks) + " blocks in use, not " + std::to_string(with.blocks());
}

tested_row run_row(const pool_operation& tested) {
  tested_row row;
  for (const bool all_that_follow : {false, true}) {
    for (std::size_t n = 1;; n += n < 40 ? 1 : n / 16) {
      failing_calls plan{n, all_that_follow};
      std::string wrong;
      try {
        wrong = run_cell(tested, plan);
      } catch (const std::exception& e) {
        wrong = std::string("then: ") + e.what();
      }
      if (plan.met) ++row.injected;
      if (!wrong.empty()) {
        ++row.wrong;
        if (row.complaint.empty()) {
          row.complaint = "failure " + std::to_string(n) +
                          (all_that_follow ? " and all that follow: " : ": ") + wrong;
        }
      }
      if (!plan.met) break;
    }
  }
  return row;
}

void opened(tested_pool& p) { p.open(); }
void attached(tested_pool& p) {
  p.open();
  p.attach();
}

/// Its pages go back to the file system afterwards, as far as there is memory for that.
pool_operation drop_of_a_large_root() {
  return {"drop_root, of a large one",
          [](tested_pool& p) {
            attached(p);
            table large(*p.in, "dropped");
            for (u64 n = 0; n < 8'000; ++n) large.insert(n, n);
          },
          [](tested_pool& p) { p.in->drop_root("dropped"); },
          [](tested_pool& p, bool threw) -> std::string {
            for (const root_info& each : p.in->roots()) {
              if (each.name == "dropped") return "";
            }
            return threw ? "threw, and has dropped it" : "";
          }};
}

std::vector<pool_operation> operations() {
  std::vector<pool_operation> rows;
  rows.push_back({"create",
                  {},
                  [](tested_pool& p) { pool::create(p.file("other"), p.options).close(); },
                  [](tested_pool& p, bool) -> std::string {
                    pool::open_or_create(p.file("other"), p.options).close();
                    return "";
                  }});
  rows.push_back({"create, without exceptions",
                  {},
                  [](tested_pool& p) {
                    std::error_code failed;
                    const auto made = pool::try_create(p.file("other"), p.options, failed);
                    if (made != nullptr) made->close();
                  },
                  [](tested_pool& p, bool) -> std::string {
                    pool::open_or_create(p.file("other"), p.options).close();
                    return "";
                  }});
  rows.push_back({"open", {}, [](tested_pool& p) { p.open(); }, {}});
  rows.push_back({"open, attach", {}, attached, {}});
  rows.push_back({"attach", opened, [](tested_pool& p) { p.attach(); }, {}});
  // A service of the pool that fails to be made leaves nothing that close() would call.
  rows.push_back({"attach, then again", opened,
                  [](tested_pool& p) {
                    try_to([&] { p.attach(); });
                    without_failures([&] { p.attach(); });
                  },
                  [](tested_pool& p, bool) { return p.wrong(); }, true});
  rows.push_back({"attach a new root", attached,
                  [](tested_pool& p) {
                    const table one(*p.in, "new table");
                    const set other(*p.in, "new set");
                    const buffered third(*p.in, "new map");
                  },
                  [](tested_pool& p, bool) -> std::string {
                    table one(*p.in, "new table");
                    return one.insert(1, 1) && one.size_estimate() == 1 ? "" : "another new table";
                  }});
  rows.push_back({"drop_root",
                  [](tested_pool& p) {
                    attached(p);
                    table(*p.in, "dropped").insert(1, 1);
                  },
                  [](tested_pool& p) { p.in->drop_root("dropped"); },
                  [](tested_pool& p, bool threw) -> std::string {
                    const std::size_t roots = p.in->roots().size();
                    table again(*p.in, "dropped");
                    const std::size_t there = again.size_estimate();
                    if (there > 1 || (!threw && there != 0)) return "not dropped";
                    return there == 1 || roots != p.in->roots().size() ? "" : "its name is left";
                  }});
  rows.push_back(drop_of_a_large_root());
  rows.push_back({"grow", attached, [](tested_pool& p) { p.in->grow(std::size_t{8} << 20); },
                  [](tested_pool& p, bool threw) -> std::string {
                    const std::size_t size = p.in->size_bytes();
                    return threw || size == std::size_t{8} << 20 ? "" : "another size";
                  }});
  rows.push_back({"close", attached, [](tested_pool& p) { p.close(); }, {}});
  return rows;
}

TEST(PoolOperationsOom, all) {
  for (const pool_operation& each : operations()) {
    const tested_row row = in_a_child([&] { return run_row(each); });
    std::printf("%-34s %-26s %4u failures, %u wrong%s%s\n", "pool", each.name.c_str(), row.injected,
                row.wrong, row.complaint.empty() ? "" : ": ", row.complaint.c_str());
    EXPECT_EQ(row.complaint, "") << each.name;
    EXPECT_NE(row.injected, 0U) << each.name << ": no call failed";
  }
}

TEST(PoolOperationsOom, work_for_several_threads_is_done_by_fewer) {
  const tested_row row = in_a_child([] {
    tested_row seen;
    for (std::size_t n = 1;; ++n) {
      failing_calls plan{n, false};
      std::atomic<unsigned> done{0};
      bool threw = false;
      std::thread([&] {
        calls_to_fail = &plan;
        try {
          base::in_parallel(4, [&](unsigned) { done.fetch_add(1); });
        } catch (const std::bad_alloc&) {
          threw = true;
        }
      }).join();
      if (done != (threw ? 0U : 4U)) ++seen.wrong;
      if (!plan.met) return seen;
      ++seen.injected;
    }
  });
  EXPECT_EQ(row.complaint, "");
  EXPECT_EQ(row.wrong, 0U);
  EXPECT_GT(row.injected, 4U);
}

/// A thread with a slot that no thread has used before.
TEST(PoolOperationsOom, a_thread_registers_or_throws) {
  std::latch over(1);
  std::vector<std::thread> threads;
  std::size_t met = 0;
  for (std::size_t n = 1; n < 40; ++n) {
    std::latch registered(1);
    threads.emplace_back([&, n] {
      failing_calls plan{n, false};
      calls_to_fail = &plan;
      try_to([] { (void)base::this_thread(); });
      without_failures([] { (void)base::this_thread(); });
      calls_to_fail = nullptr;
      met += plan.met;
      registered.count_down();
      over.wait();
    });
    registered.wait();
  }
  EXPECT_GT(met, 0U);
  EXPECT_GE(base::registered_threads(), threads.size());
  over.count_down();
  for (std::thread& each : threads) each.join();
}

}  // namespace
}  // namespace outlast::test
