// Goal: each call on a file can fail, be the last one of its process, or be lost by a power cut
// that keeps a later one. The operation then returns an error that names the file, or has
// completed. No acknowledged operation is lost, and a second call completes the first one. No other
// file is touched, and neither files nor descriptors are left. Method: every call of every
// operation times every fault, in processes of their own. The tables are printed.
//
// OUTLAST_FILE_FAULTS=all tries every occurrence of a call and every error, which takes minutes.
#include <tests/files/faults.hpp>
#include <tests/files/stand.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <sys/stat.h>

namespace outlast::test::files {
namespace {

bool is_wanted_thoroughly() {
  const char* const wanted = std::getenv("OUTLAST_FILE_FAULTS");
  return wanted != nullptr && std::string_view(wanted) == "all";
}

void try_all(const operations& all) {
  ::umask(022);
  stand_result sum;
  for (const auto& each : all) {
    const stand_result one = try_operation(*each, {is_wanted_thoroughly()}, std::cout);
    sum.calls += one.calls;
    sum.rows += one.rows;
    sum.tries += one.tries;
    sum.empty += one.empty;
    sum.wrong.insert(sum.wrong.end(), one.wrong.begin(), one.wrong.end());
    EXPECT_GT(one.calls, 0U) << each->name();
  }
  std::cout << '\n';
  for (const reason& each : all_reasons())
    std::cout << each.letter << ": " << each.sentence << '\n';
  std::cout << all.size() << " operations, " << sum.calls << " calls, " << sum.rows << " rows, "
            << sum.tries << " faults tried, " << sum.wrong.size() << " wrong, " << sum.empty
            << " cells empty\n";
  EXPECT_EQ(sum.empty, 0U);
  for (const std::string& each : sum.wrong) ADD_FAILURE() << each;
}

TEST(FileFaults, of_pools_lose_nothing) { try_all(pool_operations()); }
TEST(FileFaults, of_stores_of_replicas_on_disks_lose_nothing) {
  try_all(store_operations(db::StoreEngine::kReplicas, true));
}
TEST(FileFaults, of_stores_of_replicas_in_memory_lose_nothing) {
  try_all(store_operations(db::StoreEngine::kReplicas, false));
}
TEST(FileFaults, of_stores_of_records_on_disks_lose_nothing) {
  try_all(store_operations(db::StoreEngine::kRecords, true));
}
TEST(FileFaults, of_stores_of_records_in_memory_lose_nothing) {
  try_all(store_operations(db::StoreEngine::kRecords, false));
}
TEST(FileFaults, of_upgrades_lose_nothing) { try_all(upgrade_operations()); }

}  // namespace
}  // namespace outlast::test::files
