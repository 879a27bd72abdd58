// Goal: every call on a parent's store returns in a forked child, with an error, whatever the
// parent's threads were doing at the fork; the parent goes on. Method: threads that write, open and
// drop snapshots meanwhile, children that an alarm ends if they wait.
#include <tests/support/sanitizer.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace outlast::test {
namespace {

class StoreForked : public testing::TestWithParam<place> {
 protected:
  StoreForked() : home(GetParam()) {}

  /// The exit status of a child that runs `body`, 128 and more if a signal ended it.
  template <class Body>
  static int status_of_child(Body&& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  store_home home;
};

INSTANTIATE_TEST_SUITE_P(everywhere, StoreForked,
                         testing::Values(place::memory_files, place::disk, place::record_files,
                                         place::record_disk),
                         testing::PrintToStringParamName());

TEST_P(StoreForked, answers_every_call_with_an_error) {
  ASSERT_EQ(home.open().ToString(), "OK");
  ASSERT_EQ(home->Put({}, "key", "value").ToString(), "OK");
  const std::unique_ptr<db::Iterator> at(home->NewIterator({}));
  at->SeekToFirst();
  db::ReadOptions then;
  then.snapshot = home->GetSnapshot();
  EXPECT_EQ(status_of_child([&] {
              std::string value;
              db::WriteOptions synced;
              synced.sync = true;
              int wrong = 0;
              wrong += home->Put({}, "a", "b").ok() ? 1 : 0;
              wrong += home->Put(synced, "a", "b").ok() ? 2 : 0;
              wrong += home->Delete({}, "a").ok() ? 4 : 0;
              wrong += home->Get({}, "key", &value).ok() ? 8 : 0;
              wrong += home->Get(then, "key", &value).ok() ? 16 : 0;
              at->SeekToLast();
              wrong += at->Valid() || at->status().ok() ? 32 : 0;
              wrong += home->GetProperty("outlast.keys", &value) ? 64 : 0;
              home->CompactRange(nullptr, nullptr);
              home->ReleaseSnapshot(home->GetSnapshot());
              return wrong;
            }),
            0);
  home->ReleaseSnapshot(then.snapshot);
  EXPECT_EQ(home->Put({}, "key", "other").ToString(), "OK");
  EXPECT_EQ(value_of(*home, "key"), "other");
}

TEST_P(StoreForked, is_deleted_whatever_the_parents_threads_were_doing) {
  if (under_address_sanitizer)
    GTEST_SKIP() << "AddressSanitizer's own locks are not free in a child";
  ASSERT_EQ(home.open().ToString(), "OK");
  std::atomic<bool> over{false};
  std::vector<std::jthread> busy;
  busy.emplace_back([&] {
    for (int i = 0; !over.load(); ++i) EXPECT_TRUE(home->Put({}, std::to_string(i % 20), "v").ok());
  });
  busy.emplace_back([&] {
    while (!over.load()) home->ReleaseSnapshot(home->GetSnapshot());
  });
  busy.emplace_back([&] {
    db::DB* none = nullptr;
    while (!over.load()) EXPECT_FALSE(db::DB::Open(home.options, home.name(), &none).ok());
  });
  const db::Snapshot* const held = home->GetSnapshot();
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(status_of_child([&] {
                home->ReleaseSnapshot(held);
                home.close();
                return 0;
              }),
              0);
  }
  over.store(true);
  busy.clear();
  home->ReleaseSnapshot(held);
  EXPECT_EQ(home->Put({}, "key", "value").ToString(), "OK");
}

}  // namespace
}  // namespace outlast::test
