// Goal: a store in ordinary memory costs what is in it: tests of a program open hundreds.
// Method: fifty stores of one key; what the process has resident.
#include <outlast/db/db.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/memenv.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

namespace outlast::db {
namespace {

std::size_t resident_bytes() {
  std::ifstream from("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  from >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

class StoresInMemory : public testing::Test {
 protected:
  void open(int number) {
    Options options;
    options.env = env.get();
    options.create_if_missing = true;
    DB* made = nullptr;
    ASSERT_EQ(DB::Open(options, "/store" + std::to_string(number), &made).ToString(), "OK");
    stores.emplace_back(made);
    ASSERT_EQ(made->Put({}, "key", "value").ToString(), "OK");
  }

  std::unique_ptr<Env> env{NewMemEnv(Env::Default())};
  std::vector<std::unique_ptr<DB>> stores;
};

TEST_F(StoresInMemory, cost_a_mebibyte_at_most) {
  constexpr int count = 50;
  open(0);  // what the process needs once
  const std::size_t before = resident_bytes();
  for (int i = 1; i <= count; ++i) ASSERT_NO_FATAL_FAILURE(open(i));
  EXPECT_LE(resident_bytes() - before, count * (std::size_t{1} << 20));
  // Opened again they have what they had.
  stores.clear();
  for (int i = 0; i <= count; ++i) ASSERT_NO_FATAL_FAILURE(open(i));
  EXPECT_LE(resident_bytes() - before, 2 * count * (std::size_t{1} << 20));
  std::string value;
  EXPECT_EQ(stores.back()->Get({}, "key", &value).ToString(), "OK");
  EXPECT_EQ(value, "value");
}

}  // namespace
}  // namespace outlast::db
