// Goal: a server of this version has all items of the pools and stores of earlier versions.
// Method: golden pools of a cache, closed and killed, and golden stores of both formats. Requests
// of both protocols read and change the items, and read them again after another opening.
#include <tests/layout/families.hpp>
#include <tests/layout/served.hpp>
#include <tests/support/reasons.hpp>
#include <tests/support/temp_pool.hpp>

#include <outlast/base/error.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include <fcntl.h>

namespace outlast::test {
namespace {

namespace fs = std::filesystem;

/// The machine is the one that the killed pool was open on.
class golden_served : public testing::TestWithParam<const char*> {
 protected:
  golden_served() { pool_detail::test_hooks().boot = golden_boot; }
  ~golden_served() override { pool_detail::test_hooks().boot.reset(); }

  /// Returns a copy of a golden pool, to be changed.
  [[nodiscard]] std::string copy_to(const std::string& path) const {
    fs::copy_file(fs::path(OUTLAST_GOLDEN_POOLS) / (std::string("served-") + GetParam() + ".pool"),
                  path);
    const pool_detail::unique_fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    pool_detail::adopt_copy(path, file.get());
    return path;
  }

  temp_directory folder_;
};

class golden_served_cache : public golden_served {};

TEST_P(golden_served_cache, has_its_items_where_it_was_and_elsewhere) {
  const std::string path = copy_to(folder_.file("items.pool"));
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
  pool_options elsewhere;
  elsewhere.base_address = 0x5548'0000'0000;  // where programs and sanitizers leave room
  for (const pool_options& options : {pool_options(), elsewhere, pool_options()}) {
    auto opened = pool::open(path, options);
    EXPECT_EQ(content_of_served_cache(opened), filled_served_cache);
    opened.close();
  }
}

TEST_P(golden_served_cache, can_be_changed) {
  const std::string path = copy_to(folder_.file("items.pool"));
  {
    auto opened = pool::open(path);
    change_served_cache(opened);
    EXPECT_EQ(content_of_served_cache(opened), changed_served_cache);
  }  // not closed
  auto again = pool::open(path);
  EXPECT_EQ(content_of_served_cache(again), changed_served_cache);
  again.close();
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
}

INSTANTIATE_TEST_SUITE_P(format_2, golden_served_cache,
                         testing::Values("cache-closed", "cache-killed"), [](const auto& of) {
                           return std::string(of.param).substr(sizeof "cache");
                         });

class golden_served_store : public golden_served {
 protected:
  [[nodiscard]] std::string store() const {
    fs::create_directory(folder_.file("store"));
    static_cast<void>(copy_to(folder_.file("store") + "/store.pool"));
    return folder_.file("store");
  }
  [[nodiscard]] static bool has_parts() { return std::string(GetParam()) == "store-2-closed"; }
};

TEST_P(golden_served_store, has_its_items_and_can_be_changed) {
  const std::string directory = store();
  EXPECT_EQ(content_of_served_store(directory),
            has_parts() ? filled_served_store_2 : filled_served_store_1);
  change_served_store(directory);
  const auto changed = has_parts() ? changed_served_store_2 : changed_served_store_1;
  EXPECT_EQ(content_of_served_store(directory), changed);
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(directory + "/store.pool")));
}

INSTANTIATE_TEST_SUITE_P(formats, golden_served_store,
                         testing::Values("store-1-closed", "store-2-closed"), [](const auto& of) {
                           return std::string("format_") + of.param[sizeof "store"];
                         });

TEST(golden_served_pools, are_all_read) {
  std::size_t found = 0;
  for (const auto& each : fs::directory_iterator(OUTLAST_GOLDEN_POOLS)) {
    found += each.path().filename().string().starts_with("served-") ? 1 : 0;
  }
  EXPECT_EQ(found, 4U);
}

}  // namespace
}  // namespace outlast::test
