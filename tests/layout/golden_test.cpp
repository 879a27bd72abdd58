// Goal: pools of each released format can be opened, have their content, and can be changed.
// Method: golden pools of every family that were made when the format was released (make_golden),
// closed or killed, opened where they were made and elsewhere, and converted to the newest format.
#include <tests/layout/families.hpp>
#include <tests/support/reasons.hpp>
#include <tests/support/temp_pool.hpp>

#include <outlast/base/error.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/detail/upgrade.hpp>
#include <outlast/pool/file/file_identity.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

#include <fcntl.h>

namespace outlast::test {
namespace {

namespace fs = std::filesystem;

/// A copy of a golden pool, to be changed.
std::string copy_of(const temp_directory& folder, const std::string& name) {
  const std::string copy = folder.file("golden.pool");
  fs::copy_file(fs::path(OUTLAST_GOLDEN_POOLS) / (name + ".pool"), copy);
  const pool_detail::unique_fd file(::open(copy.c_str(), O_RDWR | O_CLOEXEC));
  pool_detail::adopt_copy(copy, file.get());
  return copy;
}

std::uint32_t version_of(const std::string& path) {
  const pool_format::file_view view(path);
  const auto reading = pool_format::read_header(view.bytes());
  return reading.header ? reading.header->fixed.format_version : 0;
}

/// The machine is the one that the killed pools were open on.
class golden : public testing::TestWithParam<std::tuple<std::size_t, bool>> {
 protected:
  golden() { pool_detail::test_hooks().boot = golden_boot; }
  ~golden() override { pool_detail::test_hooks().boot.reset(); }

  [[nodiscard]] static const family& of() { return families()[std::get<0>(GetParam())]; }
  [[nodiscard]] static bool is_closed() { return std::get<1>(GetParam()); }
  [[nodiscard]] static std::string name() {
    return std::string(of().name) + (is_closed() ? "-closed" : "-killed");
  }
  void expect_content(const std::string& path, std::string_view content,
                      const pool_options& options = {}) {
    auto opened = pool::open(path, options);
    EXPECT_EQ(of().content(opened), content);
    opened.close();
  }

  temp_directory folder_;
};

TEST_P(golden, is_sound) {
  const std::string path = copy_of(folder_, name());
  for (const pool_format::finding& one : pool_format::check_file(path)) {
    EXPECT_EQ(one.level, pool_format::severity::note) << one.sentence;
  }
}

TEST_P(golden, holds_what_it_held) { expect_content(copy_of(folder_, name()), of().filled); }

/// Objects with plain pointers have to stay where they are, and say so.
TEST_P(golden, holds_it_elsewhere_or_is_refused_there) {
  const std::string path = copy_of(folder_, name());
  pool_options elsewhere;
  elsewhere.base_address = 0x5548'0000'0000;  // where programs and sanitizers leave room
  if (of().name == "objects") {
    auto opened = pool::open(path, elsewhere);
    EXPECT_EQ(reason_of([&] { static_cast<void>(of().content(opened)); }), errc::address_taken);
  } else {
    expect_content(path, of().filled, elsewhere);
  }
  expect_content(path, of().filled);
}

TEST_P(golden, can_be_changed) {
  const std::string path = copy_of(folder_, name());
  {
    auto opened = pool::open(path);
    of().change(opened);
    EXPECT_EQ(of().content(opened), of().changed);
  }  // not closed
  expect_content(path, of().changed);
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
}

TEST_P(golden, holds_what_it_held_as_version_2) {
  const std::string path = copy_of(folder_, name());
  pool_detail::upgrade_unopened(pool_detail::mapped_file::open(path));
  for (const pool_format::finding& one : pool_format::check_file(path)) {
    EXPECT_EQ(one.level, pool_format::severity::note) << one.sentence;
  }
  pool_options elsewhere;
  if (of().name != "objects") elsewhere.base_address = 0x5548'0000'0000;
  expect_content(path, of().filled, elsewhere);
  EXPECT_EQ(version_of(path), pool_format::version_2);
  expect_content(path, of().filled);
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
}

TEST_P(golden, can_be_changed_as_version_2) {
  const std::string path = copy_of(folder_, name());
  {
    pool_options options;
    options.upgrade = true;
    auto opened = pool::open(path, options);
    of().change(opened);
    EXPECT_EQ(of().content(opened), of().changed);
  }  // not closed
  EXPECT_EQ(version_of(path), pool_format::version_2);
  expect_content(path, of().changed);
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
}

TEST_P(golden, is_refused_as_torn_after_a_start_of_the_machine_unless_it_was_closed) {
  const std::string path = copy_of(folder_, name());
  pool_detail::test_hooks().boot = pool_format::boot_id{7, 7};
  EXPECT_EQ(pool_format::has_errors(pool_format::check_file(path)), !is_closed());
  pool_options options;
  if (!is_closed()) {
    EXPECT_EQ(reason_of([&] { static_cast<void>(pool::open(path)); }), errc::torn_by_machine_crash);
    options.salvage = true;
  }
  expect_content(path, of().filled, options);
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<std::size_t, bool>>& of) {
  return std::string(families()[std::get<0>(of.param)].name) +
         (std::get<1>(of.param) ? "_closed" : "_killed");
}

INSTANTIATE_TEST_SUITE_P(format_1, golden,
                         testing::Combine(testing::Range(std::size_t{0}, families().size()),
                                          testing::Bool()),
                         name_of_case);

TEST(golden_store, holds_what_it_held_and_can_be_changed) {
  const temp_directory folder;
  const std::string store = folder.file("store");
  fs::create_directory(store);
  fs::copy_file(fs::path(OUTLAST_GOLDEN_POOLS) / "store-closed.pool", store + "/store.pool");
  EXPECT_EQ(content_of_store(store), filled_store);
  change_store(store);
  EXPECT_EQ(content_of_store(store), changed_store);
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(store + "/store.pool")));
}

TEST(golden_store, can_be_changed_as_version_2) {
  const temp_directory folder;
  const std::string store = folder.file("store");
  const std::string path = store + "/store.pool";
  fs::create_directory(store);
  fs::copy_file(fs::path(OUTLAST_GOLDEN_POOLS) / "store-closed.pool", path);
  pool_detail::upgrade_unopened(pool_detail::mapped_file::open(path));
  EXPECT_EQ(version_of(path), pool_format::version_2);
  EXPECT_EQ(content_of_store(store), filled_store);
  change_store(store);
  EXPECT_EQ(content_of_store(store), changed_store);
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path)));
}

TEST(golden_pools, are_all_read) {
  std::size_t found = 0;
  for (const auto& each : fs::directory_iterator(OUTLAST_GOLDEN_POOLS)) {
    const bool is_served = each.path().filename().string().starts_with("served-");  // another test
    found += each.path().extension() == ".pool" && !is_served ? 1 : 0;
  }
  EXPECT_EQ(found, 2 * families().size() + 1);
}

}  // namespace
}  // namespace outlast::test
