// Goal: an upgrade runs each step once and in order, or none at all. Method: steps that note that
// they ran, and the real steps on a pool.
#include <apps/upgrade.hpp>

#include <outlast/base/error.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace outlast::apps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Upgrade : testing::Test {
  upgrade_step noting(std::uint32_t from) {
    return {from, [this, from](const std::string& file) {
              EXPECT_EQ(file, "some.pool");
              ran.push_back(from);
            }};
  }
  std::vector<std::uint32_t> run(std::uint32_t version, std::uint32_t newest) {
    return upgrade("some.pool", version, newest, steps);
  }
  errc refused(std::uint32_t version, std::uint32_t newest) {
    try {
      static_cast<void>(run(version, newest));
    } catch (const error& why) {
      return why.reason();
    }
    return errc{};
  }

  std::vector<std::uint32_t> ran;
  std::vector<upgrade_step> steps{noting(2), noting(1), noting(3)};
};

TEST_F(Upgrade, runs_the_steps_from_its_version_on_in_order) {
  EXPECT_THAT(run(1, 4), ElementsAre(1, 2, 3));
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
  ran.clear();
  EXPECT_THAT(run(2, 3), ElementsAre(2));
  EXPECT_THAT(ran, ElementsAre(2));
}

TEST_F(Upgrade, does_nothing_to_the_newest) {
  EXPECT_THAT(run(4, 4), IsEmpty());
  EXPECT_THAT(ran, IsEmpty());
}

TEST_F(Upgrade, refuses_what_is_newer) {
  EXPECT_EQ(refused(5, 4), errc::newer_version);
  EXPECT_THAT(ran, IsEmpty());
}

TEST_F(Upgrade, begins_no_way_that_has_a_gap) {
  steps.erase(steps.begin());  // from 2
  EXPECT_EQ(refused(1, 4), errc::refused);
  EXPECT_THAT(ran, IsEmpty());
}

TEST_F(Upgrade, a_step_that_fails_ends_it) {
  steps[0].run = [](const std::string& file) { throw error(errc::io_failure, file, "it broke"); };
  EXPECT_EQ(refused(1, 4), errc::io_failure);
  EXPECT_THAT(ran, ElementsAre(1));
}

TEST_F(Upgrade, the_real_steps_lead_to_the_newest_version_from_every_older_one) {
  const test::temp_directory folder;
  const std::string path = folder.file("pool");
  pool::create(path, {.size_bytes = std::size_t{1} << 20, .format_version = 1}).close();
  {
    const auto file = pool_detail::mapped_file::open(path);
    steps = all_upgrade_steps(file);
    EXPECT_EQ(steps.size(), pool_format::version - 1);
    EXPECT_THAT(upgrade(path, 1, pool_format::version, steps), ElementsAre(1));
    EXPECT_EQ(version_of(file.first_page(), path), pool_format::version);
  }
  pool again = pool::open(path);
  EXPECT_FALSE(again.was_dirty());
  EXPECT_FALSE(pool_format::has_errors(again.check()));
}

/// Why the version of this page cannot be told; errc{} and the version, if it can.
std::pair<errc, std::uint32_t> version_in(const pool_format::header_page& page,
                                          std::size_t bytes = sizeof page) {
  std::vector<std::byte> first(bytes);
  std::memcpy(first.data(), &page, bytes);
  try {
    return {errc{}, version_of(first, "some.pool")};
  } catch (const error& why) {
    return {why.reason(), 0};
  }
}

TEST(UpgradeVersion, is_told_of_an_intact_header_alone) {
  pool_format::header_page page{};
  EXPECT_EQ(version_in(page).first, errc::not_a_pool);
  page.fixed.magic_word = pool_format::magic;
  EXPECT_EQ(version_in(page).first, errc::foreign_machine);
  page.fixed.endian = pool_format::endian_tag;
  page.fixed.format_version = 7;
  EXPECT_EQ(version_in(page).first, errc::header_damaged);
  seal(page);
  EXPECT_EQ(version_in(page), std::pair(errc{}, 7U));
  EXPECT_EQ(version_in(page, 10).first, errc::not_a_pool);
}

}  // namespace
}  // namespace outlast::apps
