// Goal: a backup of a pool in use has the state of one moment, and disturbs neither the pool nor
// the faults of other memory.
// Method: threads store ascending numbers to many parts of a pool in a fixed order, and each thread
// reads the numbers of the thread before it. In the state of one moment the numbers differ by at
// most one in the order of a thread, and no number is larger than the one that it was read from.
#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/reasons.hpp>
#include <tests/support/streamed_backup.hpp>
#include <tests/support/temp_pool.hpp>
#include <tests/support/whole_file.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <linux/magic.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast {
namespace {

namespace fs = std::filesystem;
using test::reason_of;
using test::stream_to_file;

constexpr std::size_t page = pool_format::page_bytes;
constexpr unsigned threads = 4;
constexpr unsigned parts = 160;           // more than a backup has memory for
constexpr std::uint32_t part_pages = 64;  // a chunk of a backup
constexpr std::size_t run_bytes = parts * part_pages * page;

using word = std::atomic<std::uint64_t>;

/// The numbers of all threads in a run of a pool.
class numbers {
 public:
  explicit numbers(std::byte* run) : run_(run) {}

  [[nodiscard]] word& of(unsigned thread, unsigned part) const {
    // Not in the order of addresses, in which a backup goes.
    const std::size_t there = std::size_t{part} * 77 % parts;
    return *reinterpret_cast<word*>(run_ + (there * part_pages + thread) * page);
  }

  void advance(unsigned thread) const {
    const std::uint64_t next = thread == 0 ? of(0, 0).load(std::memory_order_relaxed) + 1
                                           : of(thread - 1, parts - 1).load();
    for (unsigned part = 0; part < parts; ++part) of(thread, part).store(next);
  }

  /// Returns the first contradiction, or "".
  [[nodiscard]] std::string contradiction() const {
    for (unsigned thread = 0; thread < threads; ++thread) {
      for (unsigned part = 1; part < parts; ++part) {
        const std::uint64_t before = of(thread, part - 1).load();
        const std::uint64_t here = of(thread, part).load();
        if (here > before || of(thread, 0).load() > next_after(thread, here)) {
          return "thread " + std::to_string(thread) + " has " + std::to_string(here) + " in part " +
                 std::to_string(part) + " after " + std::to_string(before);
        }
      }
      if (thread > 0 && of(thread, 0).load() > of(thread - 1, parts - 1).load()) {
        return "thread " + std::to_string(thread) + " has a number that was not stored before";
      }
    }
    return {};
  }

 private:
  /// Only the numbers of the first thread have no gaps.
  static std::uint64_t next_after(unsigned thread, std::uint64_t number) {
    return thread == 0 ? number + 1 : ~std::uint64_t{0};
  }

  std::byte* run_;
};

/// Makes a root with one run. Returns the run.
template <class Pool>
std::byte* make_run(Pool& pool, const char* name = "numbers") {
  const attached_root root = pool.attach_root(name, "numbers", 1, true);
  void* const run = pool.pages().allocate_run(pool_format::run_kind::large, root.index, 1,
                                              parts * part_pages, run_bytes);
  std::memset(run, 0, run_bytes);
  pool.publish_root(root.index, run);
  pool.detach_root(root.index, false);
  return static_cast<std::byte*>(run);
}

template <class Pool>
std::byte* run_in(Pool& pool, const char* name = "numbers") {
  const attached_root root = pool.attach_root(name, "numbers", 1, true);
  pool.detach_root(root.index, false);
  return reinterpret_cast<std::byte*>(pool.base() + root.object_offset);
}

/// Threads that change the numbers until they are destroyed.
class writers {
 public:
  explicit writers(const numbers& all) {
    for (unsigned thread = 0; thread < threads; ++thread) {
      running_.emplace_back([this, all, thread] {
        while (!stop_.load()) {
          all.advance(thread);
          rounds_.fetch_add(1);
        }
      });
    }
  }
  ~writers() {
    stop_.store(true);
    for (std::thread& each : running_) each.join();
  }
  writers(const writers&) = delete;
  writers& operator=(const writers&) = delete;

  void wait_for_rounds(std::uint64_t count) const {
    const std::uint64_t begin = rounds_.load();
    while (rounds_.load() < begin + count) std::this_thread::yield();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> rounds_{0};
  std::vector<std::thread> running_;
};

constexpr pool_options roomy{.size_bytes = std::size_t{128} << 20};

class Backup : public testing::Test {
 protected:
  void TearDown() override { pool_detail::test_hooks() = {}; }

  template <class D = domain::process>
  void expect_moment(const std::string& path) {
    EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
    auto copy = basic_pool<D>::open(path);
    EXPECT_TRUE(copy.was_dirty());
    EXPECT_EQ(numbers(run_in(copy)).contradiction(), "");
    copy.close();
    fs::remove(path);
  }
  test::temp_directory directory_;
  std::string path_ = directory_.file("pool");
  std::string copy_ = directory_.file("copy");
};

template <class D>
class backups : public Backup {};
using mapping_domains = testing::Types<domain::process, domain::adr, domain::native>;
TYPED_TEST_SUITE(backups, mapping_domains);

TYPED_TEST(backups, to_files_have_the_state_of_one_moment) {
  auto pool = basic_pool<TypeParam>::create(this->path_, roomy);
  const numbers all(make_run(pool));
  std::vector<std::string> copies;
  {
    const writers running(all);
    for (int i = 0; i < 8; ++i) {
      running.wait_for_rounds(20);
      copies.push_back(this->directory_.file("copy" + std::to_string(i)));
      const backup_result result = pool.backup(copies.back());
      EXPECT_GE(result.bytes, run_bytes);
      EXPECT_EQ(result.length_bytes, fs::file_size(copies.back()));
    }
    running.wait_for_rounds(20);
  }
  EXPECT_EQ(all.contradiction(), "");
  for (const std::string& copy : copies) this->template expect_moment<TypeParam>(copy);
  pool.close();
}

TYPED_TEST(backups, to_a_slow_stream_have_the_state_of_one_moment) {
  auto pool = basic_pool<TypeParam>::create(this->path_, roomy);
  const numbers all(make_run(pool));
  backup_result result;
  {
    const writers running(all);
    running.wait_for_rounds(20);
    // All parts are changed before the second chunk is taken.
    result = stream_to_file(pool, this->copy_, [&] { running.wait_for_rounds(threads * 3); });
  }
  EXPECT_EQ(result.length_bytes, fs::file_size(this->copy_));
  EXPECT_GE(result.waits, parts);
  this->template expect_moment<TypeParam>(this->copy_);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(this->path_).parent_path()), {}), 1);
}

TEST_F(Backup, opens_after_the_next_start_of_the_machine_and_so_do_its_copies) {
  pool_detail::test_hooks().file_system = EXT4_SUPER_MAGIC;
  auto original = pool::create(path_, roomy);
  make_run(original);
  original.backup(copy_);
  stream_to_file(original, directory_.file("streamed"), [] {});
  const std::string moved = directory_.file("moved");
  fs::copy_file(copy_, moved);
  expect_moment(moved);
  fs::copy_file(copy_, moved);
  pool_format::boot_id another{};
  another.fill(7);
  pool_detail::test_hooks().boot = another;
  expect_moment(moved);
  expect_moment(copy_);
  expect_moment(directory_.file("streamed"));
}

TEST_F(Backup, that_is_open_is_refused_in_a_copy) {
  pool_detail::test_hooks().file_system = EXT4_SUPER_MAGIC;
  auto original = pool::create(path_, roomy);
  make_run(original);
  original.backup(copy_);
  const auto opened = pool::open(copy_);
  const std::string torn = directory_.file("torn");
  fs::copy_file(copy_, torn);
  EXPECT_EQ(reason_of([&] { (void)pool::open(torn); }), errc::torn_by_copying);
}

TEST_F(Backup, reports_its_progress_and_can_be_cancelled) {
  auto original = pool::create(path_, roomy);
  const numbers all(make_run(original));
  std::uint64_t last = 0;
  std::uint64_t calls = 0;
  std::uint64_t whole = 0;
  original.backup(copy_, [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_GT(done, last);
    EXPECT_LE(done, of);
    last = done;
    whole = of;
    ++calls;
  });
  EXPECT_EQ(last, whole);
  EXPECT_EQ(whole, fs::file_size(path_));
  EXPECT_GT(calls, 10u);
  expect_moment(copy_);
  const writers running(all);
  const auto cancelled = [&](std::uint64_t done, std::uint64_t of) {
    if (done >= of / 2) throw std::runtime_error("cancelled");
  };
  EXPECT_THROW(original.backup(copy_, cancelled), std::runtime_error);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path_).parent_path()), {}), 1);
  running.wait_for_rounds(20);
  original.backup(copy_);
  expect_moment(copy_);
}

TEST_F(Backup, replaces_no_file_and_keeps_the_permissions) {
  pool_options options = roomy;
  options.file_mode = 0640;
  auto original = pool::create(path_, options);
  std::ofstream(copy_) << "something";
  EXPECT_EQ(reason_of([&] { original.backup(copy_); }), errc::already_exists);
  EXPECT_EQ(test::whole_file(copy_), "something");
  EXPECT_EQ(reason_of([&] { original.backup(directory_.file("no/copy")); }), errc::not_found);
  original.backup(directory_.file("other"));
  struct stat status{};
  ASSERT_EQ(::stat(directory_.file("other").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(Backup, leaves_holes_as_they_are) {
  auto original = pool::create(path_, {.size_bytes = std::size_t{1} << 30});
  make_run(original);
  original.backup(copy_);
  struct stat first{};
  struct stat second{};
  ASSERT_EQ(::stat(path_.c_str(), &first), 0);
  ASSERT_EQ(::stat(copy_.c_str(), &second), 0);
  EXPECT_EQ(first.st_size, second.st_size);
  EXPECT_LE(second.st_blocks, first.st_blocks);
  EXPECT_LT(first.st_blocks * 512, std::int64_t{100} << 20);
}

TEST_F(Backup, refuses_a_second_one_of_the_same_pool) {
  auto original = pool::create(path_, roomy);
  make_run(original);
  stream_to_file(original, copy_, [&] {
    EXPECT_EQ(reason_of([&] { original.backup(directory_.file("other")); }), errc::refused);
  });
  EXPECT_FALSE(fs::exists(directory_.file("other")));
  expect_moment(copy_);
  original.backup(copy_);
}

TEST_F(Backup, of_several_pools_may_run_concurrently) {
  auto one = pool::create(path_, roomy);
  auto two = pool::create(directory_.file("two"), roomy);
  const numbers first(make_run(one));
  const numbers second(make_run(two));
  {
    const writers running(first);
    const writers others(second);
    running.wait_for_rounds(8);
    stream_to_file(one, copy_, [&] { two.backup(directory_.file("copy2")); });
  }
  expect_moment(copy_);
  expect_moment(directory_.file("copy2"));
}

TEST_F(Backup, that_fails_leaves_the_pool_writable_and_no_file) {
  auto original = pool::create(path_, roomy);
  const numbers all(make_run(original));
  const writers running(all);
  const auto failing = [](const std::byte*, std::size_t) { throw std::runtime_error("full"); };
  EXPECT_THROW(original.backup(failing), std::runtime_error);
  running.wait_for_rounds(20);
  original.backup(copy_);
  running.wait_for_rounds(20);
  expect_moment(copy_);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path_).parent_path()), {}), 1);
}

/// The kernel permits no longer files while the object exists.
class short_files {
 public:
  short_files() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit low = before_;
    low.rlim_cur = page;
    ::setrlimit(RLIMIT_FSIZE, &low);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
  }
  ~short_files() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  short_files(const short_files&) = delete;
  short_files& operator=(const short_files&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST_F(Backup, is_given_up_if_a_thread_cannot_preserve_what_it_changes) {
  auto original = pool::create(path_, roomy);
  const numbers all(make_run(original));
  const auto change = [&](const std::byte*, std::size_t) {
    const short_files full;
    all.advance(0);
    all.advance(1);
  };
  EXPECT_EQ(reason_of([&] { original.backup(change); }), errc::no_space);
  EXPECT_EQ(all.contradiction(), "");
  all.advance(0);
  original.backup(copy_);
  expect_moment(copy_);
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path_).parent_path()), {}), 1);
}

TEST_F(Backup, has_roots_that_are_dropped_meanwhile) {
  auto original = pool::create(path_, roomy);
  make_run(original);
  std::byte* const dropped = make_run(original, "dropped");
  std::memset(dropped, 5, run_bytes);
  stream_to_file(original, copy_, [&] {
    original.drop_root("dropped");
    original.trim();
  });
  auto copy = pool::open(copy_);
  const std::byte* const found = run_in(copy, "dropped");
  const std::vector<std::byte> expected(run_bytes, std::byte{5});
  EXPECT_EQ(std::memcmp(found, expected.data(), run_bytes), 0);
  EXPECT_EQ(original.roots().size(), 1u);
}

TEST_F(Backup, has_the_size_of_its_moment_if_the_pool_grows) {
  pool_options growing = roomy;
  growing.capacity_bytes = std::size_t{256} << 20;
  auto original = pool::create(path_, growing);
  make_run(original);
  stream_to_file(original, copy_, [&] {
    original.grow(growing.capacity_bytes);
    make_run(original, "later");
    make_run(original, "last");
  });
  auto copy = pool::open(copy_);
  EXPECT_EQ(copy.size_bytes(), roomy.size_bytes);
  EXPECT_EQ(copy.roots().size(), 1u);
}

TEST_F(Backup, of_a_closed_pool_is_refused) {
  auto original = pool::create(path_, roomy);
  original.close();
  EXPECT_EQ(reason_of([&] { original.backup(copy_); }), errc::closed);
}

TEST_F(Backup, of_memory_opens_as_a_file) {
  base::anonymous_memory memory(roomy.size_bytes);
  const auto original =
      basic_pool<domain::process>::in_memory(memory.data(), roomy.size_bytes, true);
  numbers(make_run(*original)).advance(0);
  original->backup(copy_);
  stream_to_file(*original, directory_.file("streamed"), [] {});
  expect_moment(copy_);
  auto copy = pool::open(directory_.file("streamed"));
  EXPECT_EQ(numbers(run_in(copy)).of(0, parts - 1).load(), 1u);
}

TEST_F(Backup, of_a_device_has_all_of_its_bytes) {
  pool_detail::test_hooks().dax_alignment = std::size_t{2} << 20;
  {
    std::ofstream device(path_);
  }
  fs::resize_file(path_, std::size_t{256} << 20);
  auto original = pool::create(path_, roomy);
  const numbers all(make_run(original));
  {
    const writers running(all);
    running.wait_for_rounds(8);
    pool_detail::test_hooks().dax_alignment.reset();
    original.backup(copy_);
  }
  expect_moment(copy_);
}

TEST_F(Backup, leaves_a_child_of_a_fork_alone) {
  auto original = pool::create(path_, roomy);
  const numbers all(make_run(original));
  int status = -1;
  stream_to_file(original, copy_, [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      auto own = pool::create(directory_.file("own"), roomy);
      const numbers its(make_run(own));
      stream_to_file(own, directory_.file("copy of own"), [&] { its.advance(0); });
      const bool right = its.contradiction().empty();
      own.close();
      ::_exit(right ? 3 : 4);
    }
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    all.advance(0);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  expect_moment(copy_);
}

// ---- Faults that are none of a backup ----

/// Stores to a page that may only be read.
void fault() {
  void* const there = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(there) = 1;
}

/// The handler of a program for as long as the object exists.
class handler_of_program {
 public:
  explicit handler_of_program(void (*handler)(int)) {
    struct sigaction mine{};
    mine.sa_handler = handler;
    ::sigaction(SIGSEGV, &mine, &before_);
  }
  ~handler_of_program() { ::sigaction(SIGSEGV, &before_, nullptr); }
  handler_of_program(const handler_of_program&) = delete;
  handler_of_program& operator=(const handler_of_program&) = delete;

 private:
  struct sigaction before_{};
};

TEST_F(Backup, leaves_other_faults_to_the_kernel) {
  const handler_of_program none(SIG_DFL);
  auto original = pool::create(path_, roomy);
  make_run(original);
  original.backup(copy_);
  EXPECT_EXIT(fault(), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(::raise(SIGSEGV), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(Backup, leaves_other_faults_to_the_handler_of_the_program) {
  const handler_of_program own([](int) { ::_exit(7); });
  auto original = pool::create(path_, roomy);
  make_run(original);
  stream_to_file(original, copy_, [&] { EXPECT_EXIT(fault(), testing::ExitedWithCode(7), ""); });
  EXPECT_EXIT(fault(), testing::ExitedWithCode(7), "");
}

sigjmp_buf before_fault;

TEST_F(Backup, leaves_the_program_its_own_protection_of_a_pool) {
  const handler_of_program own([](int) { ::siglongjmp(before_fault, 1); });
  auto original = pool::create(path_, roomy);
  std::byte* const run = make_run(original);
  original.backup(copy_);
  ASSERT_EQ(::mprotect(run, page, PROT_READ), 0);
  if (sigsetjmp(before_fault, 1) == 0) {
    *reinterpret_cast<volatile char*>(run) = 1;
    ADD_FAILURE() << "the store has succeeded";
  }
  ASSERT_EQ(::mprotect(run, page, PROT_READ | PROT_WRITE), 0);
  numbers(run).advance(0);
}

}  // namespace
}  // namespace outlast
