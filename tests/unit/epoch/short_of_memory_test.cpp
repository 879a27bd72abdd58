// Goal: what a tick could not remember for lack of memory, another tick makes durable: nothing that
// a sync() answered for is lost. Method: a thread whose large allocations fail ticks behind two
// others' erasures; a process that ends without a word.
#include <outlast/domain.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/pool/any_domain.hpp>
#include <tests/support/epochs.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace {

constinit thread_local std::size_t max_bytes = ~std::size_t{0};

}  // namespace

void* operator new(std::size_t bytes) {
  void* const made = bytes > max_bytes ? nullptr : std::malloc(bytes);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
void operator delete(void* gone) noexcept { std::free(gone); }
void operator delete(void* gone, std::size_t) noexcept { std::free(gone); }

namespace outlast::epoch {
namespace {

using u64 = std::uint64_t;
using value = std::array<char, 400>;

constexpr u64 each = 1000;

/// On a thread that stays: a record of its own.
template <class Work>
class on_a_thread {
 public:
  explicit on_a_thread(Work work)
      : thread_([this, work = std::move(work)] {
          work();
          done_.store(true);
          done_.notify_all();
          over_.wait(false);
        }) {
    done_.wait(false);
  }
  ~on_a_thread() {
    over_.store(true);
    over_.notify_all();
    thread_.join();
  }
  on_a_thread(const on_a_thread&) = delete;
  on_a_thread& operator=(const on_a_thread&) = delete;

 private:
  std::atomic<bool> done_{false};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

TEST(TickShortOfMemory, loses_nothing_that_a_sync_answers_for) {
  using D = domain::logged_file;
  const test::scratch_folder folder;
  const std::string path = (folder.path() / "p").string();
  constexpr pool_options sizes{.size_bytes = 16 << 20, .capacity_bytes = 16 << 20};
  const pid_t child = ::fork();
  if (child == 0) {
    auto pool = basic_pool<D>::create(path, sizes);
    auto& time = test::clock_by_hand(pool);
    hash_map<u64, value, D> map(pool, "map");
    for (u64 key = 0; key < 2 * each; ++key) map.put(key, value{});
    time.sync();
    const auto erase = [&](u64 from) {
      return [&map, from] {
        for (u64 key = from; key < from + each; ++key) map.erase(key);
      };
    };
    const on_a_thread first(erase(0));
    const on_a_thread second(erase(each));
    time.tick();
    bool was_short = false;
    const on_a_thread third([&] {
      max_bytes = 24 << 10;  // enough for what one thread has left
      try {
        time.tick();
      } catch (const std::bad_alloc&) {
        was_short = true;
      }
    });
    time.sync();
    ::_exit(was_short ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0) << "the tick had all the memory that it wanted";
  auto pool = basic_pool<D>::open(path, sizes);
  const hash_map<u64, value, D> map(pool, "map");
  EXPECT_EQ(map.size_estimate(), 0U);
}

}  // namespace
}  // namespace outlast::epoch
