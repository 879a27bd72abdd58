// Goal: objects of static storage duration may own pools and stores of every domain: what the
// library has at namespace scope outlives them. Method: a child that leaves by exit(), with an
// object that was constructed before everything else and so is destroyed last; the parent opens
// what it has left.
#include <outlast/db/db.hpp>
#include <outlast/domain.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace outlast {
namespace {

using u64 = std::uint64_t;

/// A pool and a buffered map in it, used and closed in the destructor.
template <class D>
class owner {
 public:
  void open(const std::string& path) {
    constexpr pool_options sizes{.size_bytes = 8 << 20, .capacity_bytes = 8 << 20};
    pool_.reset(new basic_pool<D>(basic_pool<D>::create(path, sizes)));
    map_.emplace(*pool_, "map");
    map_->put(1, 10);
  }
  ~owner() {
    if (pool_ == nullptr) return;
    map_->put(2, 20);
    map_->sync();
    map_.reset();
    pool_->close();
  }

 private:
  std::unique_ptr<basic_pool<D>> pool_;
  std::optional<epoch::hash_map<u64, u64, D>> map_;
};

struct everything {
  owner<domain::process> process;
  owner<domain::file> file;
  owner<domain::logged_file> logged;
  std::unique_ptr<pool> of_table;
  std::optional<lockfree::hash_table<u64, u64>> table;
  std::unique_ptr<db::DB> store;

  ~everything() {
    try {
      if (table) {
        table->insert(2, 20);
        table.reset();
        of_table->close();
      }
      if (store != nullptr && !store->Put({}, "2", "20").ok()) ::_exit(3);
    } catch (...) {
      ::_exit(4);
    }
  }
};

/// Constructed before all that has no priority of its own.
[[gnu::init_priority(101)]] everything until_the_end;

void start_using(const test::temp_directory& directory) {
  until_the_end.process.open(directory.file("process"));
  until_the_end.file.open(directory.file("file"));
  until_the_end.logged.open(directory.file("logged"));
  until_the_end.of_table.reset(
      new pool(pool::create(directory.file("table"), {.size_bytes = 8 << 20})));
  until_the_end.table.emplace(*until_the_end.of_table, "table");
  until_the_end.table->insert(1, 10);
  db::Options options;
  options.create_if_missing = true;
  db::StoreOptions more;
  more.capacity_bytes = std::size_t{16} << 20;
  db::DB* opened = nullptr;
  if (!db::DB::Open(options, more, directory.file("store"), &opened).ok()) ::_exit(5);
  until_the_end.store.reset(opened);
  if (!opened->Put({}, "1", "10").ok()) ::_exit(6);
}

template <class D>
void expect_both(const std::string& path) {
  auto again = basic_pool<D>::open(path);
  EXPECT_FALSE(again.was_dirty()) << path;
  epoch::hash_map<u64, u64, D> map(again, "map");
  EXPECT_EQ(map.get(1), 10U) << path;
  EXPECT_EQ(map.get(2), 20U) << path;
}

TEST(StaticLifetime, of_pools_and_stores_may_last_to_the_end_of_the_process) {
  const test::temp_directory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    start_using(directory);
    std::exit(0);  // destroys what is static
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_both<domain::process>(directory.file("process"));
  expect_both<domain::file>(directory.file("file"));
  expect_both<domain::logged_file>(directory.file("logged"));
  auto again = pool::open(directory.file("table"));
  EXPECT_FALSE(again.was_dirty());
  lockfree::hash_table<u64, u64> table(again, "table");
  EXPECT_EQ(table.get(2), 20U);
  db::DB* opened = nullptr;
  ASSERT_EQ(db::DB::Open({}, directory.file("store"), &opened).ToString(), "OK");
  const std::unique_ptr<db::DB> store(opened);
  std::string value;
  EXPECT_EQ(store->Get({}, "2", &value).ToString(), "OK");
  EXPECT_EQ(value, "20");
}

}  // namespace
}  // namespace outlast
