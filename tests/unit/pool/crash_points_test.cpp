// Goal: whatever the pool layer does, a crash at any flush leaves a pool that opens, is sound,
// and holds what was published; a crash during that recovery too. Method: a domain that keeps,
// beside the memory, an image of the lines that were flushed, and records at each flush both what
// a crash could leave at least (the image) and at most (the memory). Each record is recovered,
// and the records of each recovery again.
#include <outlast/domain.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace outlast {
namespace {

constexpr std::size_t memory_bytes = 128 << 10;
using image = std::vector<std::byte>;

alignas(4096) std::byte memory[memory_bytes];

/// What the recording domain has seen.
struct recorder {
  image flushed;
  std::vector<image> crashes;

  void begin() {
    flushed.assign(memory, memory + memory_bytes);
    crashes.clear();
  }
  void flush(const void* address) {
    const std::uintptr_t offset = base::line_of(address) - reinterpret_cast<std::uintptr_t>(memory);
    if (flushed.empty() || offset >= memory_bytes) return;
    crashes.push_back(flushed);
    crashes.emplace_back(memory, memory + memory_bytes);
    std::memcpy(flushed.data() + offset, memory + offset, base::cache_line_size);
  }
};
recorder recorded;

struct recording : domain::process {
  static constexpr std::string_view name() noexcept { return "recording"; }
  static constexpr domain::kind current_kind() noexcept { return domain::kind::simulated; }
  static constexpr bool flushes() noexcept { return true; }
  /// A crash is a power cut here: nothing is left in caches.
  static constexpr bool machine_went_on() noexcept { return false; }
  static void pwb(const void* address, domain::site = domain::site::current()) {
    recorded.flush(address);
  }
};

using recorded_pool = basic_pool<recording>;

void make_root(recorded_pool& target, const char* name) {
  const attached_root root = target.attach_root(name, "number", 1, true);
  auto* const object = static_cast<std::uint64_t*>(
      target.pages().allocate_run(pool_format::run_kind::large, root.index, 1, 1, 4096));
  const std::uint64_t value = 42;
  recording::write(object, &value, sizeof value);
  domain::persist<recording>(object, sizeof value);
  target.publish_root(root.index, object);
  target.detach_root(root.index, true);
}

void put_back(const image& bytes) { std::memcpy(memory, bytes.data(), memory_bytes); }

/// Opens what a crash left, with `check` looking on, and closes it.
void recover(const std::function<void(recorded_pool&)>& check) {
  const auto target = recorded_pool::in_memory(memory, memory_bytes, false);
  for (const pool_format::finding& one : target->check()) {
    EXPECT_NE(one.level, pool_format::severity::error) << one.sentence;
  }
  for (const root_info& root : target->roots()) {
    EXPECT_TRUE(root.live);
    const attached_root attached = target->attach_root(root.name, "number", 1, true);
    EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(target->base() + attached.object_offset), 42u);
    target->detach_root(attached.index, true);
  }
  check(*target);
  target->close();
}

/// Runs `action` on a pool, then recovers every state that a crash in it can leave; `check` is
/// given each recovered pool. One level deeper, crashes in those recoveries.
void crash_everywhere(const std::function<void(recorded_pool&)>& prepare,
                      const std::function<void(recorded_pool&)>& action,
                      const std::function<void(recorded_pool&)>& check) {
  {
    const auto target = recorded_pool::in_memory(memory, memory_bytes, true);
    prepare(*target);
    recorded.begin();
    action(*target);
  }
  const std::vector<image> crashes = recorded.crashes;
  EXPECT_FALSE(crashes.empty());
  for (std::size_t i = 0; i < crashes.size(); ++i) {
    SCOPED_TRACE("crash " + std::to_string(i));
    put_back(crashes[i]);
    recorded.begin();
    recover(check);
    const std::vector<image> inner = recorded.crashes;
    for (std::size_t j = 0; j < inner.size(); ++j) {
      SCOPED_TRACE("crash " + std::to_string(j) + " of the recovery");
      put_back(inner[j]);
      recover(check);
    }
  }
}

bool has_root(recorded_pool& target, std::string_view name) {
  const std::vector<root_info> roots = target.roots();
  return std::any_of(roots.begin(), roots.end(),
                     [name](const root_info& root) { return root.name == name; });
}

std::size_t runs_in(recorded_pool& target) {
  std::size_t count = 0;
  target.pages().for_each_run([&](std::uint32_t, const auto&) { ++count; });
  return count;
}

TEST(crash_points, creating_a_root_is_all_or_nothing) {
  crash_everywhere([](recorded_pool& target) { make_root(target, "old"); },
                   [](recorded_pool& target) { make_root(target, "new"); },
                   [](recorded_pool& target) {
                     EXPECT_TRUE(has_root(target, "old"));
                     EXPECT_EQ(runs_in(target), target.roots().size());
                   });
}

TEST(crash_points, dropping_a_root_is_all_or_nothing) {
  crash_everywhere(
      [](recorded_pool& target) {
        make_root(target, "old");
        make_root(target, "victim");
      },
      [](recorded_pool& target) { target.drop_root("victim"); },
      [](recorded_pool& target) {
        EXPECT_TRUE(has_root(target, "old"));
        EXPECT_EQ(runs_in(target), target.roots().size());
      });
}

TEST(crash_points, reserving_a_region_is_all_or_nothing) {
  crash_everywhere([](recorded_pool& target) { make_root(target, "old"); },
                   [](recorded_pool& target) {
                     (void)target.reserve_region("r", region_kind::replicas, 5000, 2);
                   },
                   [](recorded_pool& target) {
                     EXPECT_TRUE(has_root(target, "old"));
                     EXPECT_EQ(runs_in(target), 1 + target.regions().size());
                   });
}

TEST(crash_points, closing_leaves_a_pool_that_opens) {
  crash_everywhere([](recorded_pool& target) { make_root(target, "old"); },
                   [](recorded_pool& target) { target.close(); },
                   [](recorded_pool& target) { EXPECT_TRUE(has_root(target, "old")); });
}

TEST(crash_points, formatting_leaves_a_pool_or_none) {
  std::memset(memory, 0x5a, memory_bytes);
  recorded.begin();
  (void)recorded_pool::in_memory(memory, memory_bytes, true);
  const std::vector<image> crashes = recorded.crashes;
  std::size_t pools = 0;
  for (const image& crash : crashes) {
    put_back(crash);
    try {
      recover([](recorded_pool& target) { EXPECT_TRUE(target.roots().empty()); });
      ++pools;
    } catch (const error& none) {
      EXPECT_EQ(none.reason(), errc::not_a_pool);
    }
  }
  EXPECT_GT(pools, 0u);
  EXPECT_LT(pools, crashes.size());
}

}  // namespace
}  // namespace outlast
