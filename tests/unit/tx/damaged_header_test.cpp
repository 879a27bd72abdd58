// Goal: opening transactions whose header is damaged, newer, or of another engine fails with the
// right error.
// Method: records that are changed in the closed file of a pool.
#include <outlast/domain/process.hpp>
#include <outlast/tx/left_right.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace outlast::tx {
namespace {

using D = domain::process;
using manager = left_right<D>;
using pool_file = test::temp_pool<D>;

constexpr options small{.replica_bytes = std::size_t{1} << 20};

struct counters {
  std::array<field<std::uint64_t>, 2> of;
};

/// A pool file in which something about the manager's header is wrong.
class DamagedHeader : public testing::Test {
 protected:
  DamagedHeader() {
    {
      manager all(*pool_, "all", small);
      static_cast<void>(all.root<counters>("counters"));
    }
    pool_.close();
  }

  /// Changes the record in the file; a right checksum is written behind the change.
  void change(std::size_t offset, std::uint32_t value, bool sealed) {
    std::fstream file(pool_.path(), std::ios::in | std::ios::out | std::ios::binary);
    std::string content(std::filesystem::file_size(pool_.path()), '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    const std::uint64_t magic = detail::manager_record::right_magic;
    const std::size_t at = content.find({reinterpret_cast<const char*>(&magic), sizeof magic});
    ASSERT_NE(at, std::string::npos);
    detail::manager_record found;
    std::memcpy(static_cast<void*>(&found), content.data() + at, 64);
    std::memcpy(reinterpret_cast<char*>(&found) + offset, &value, sizeof value);
    if (sealed) found.checksum = detail::checksum_of(found);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at));
    file.write(reinterpret_cast<const char*>(&found), 64);
  }

  /// What opening it says.
  std::string complaint(errc expected) {
    pool_.open();
    try {
      const manager all(*pool_, "all");
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), expected) << refused.what();
      return refused.what();
    }
    ADD_FAILURE() << "it was opened";
    return "";
  }

  pool_file pool_{std::size_t{8} << 20};
};

TEST_F(DamagedHeader, of_another_engine_is_refused_by_name) {
  change(offsetof(detail::manager_record, engine), 6, true);
  const std::string said = complaint(errc::root_type_mismatch);
  EXPECT_NE(said.find("'all' belong to the engine redo_opt, not to left_right"), std::string::npos)
      << said;
  EXPECT_NE(said.find(pool_.path()), std::string::npos);
}

TEST_F(DamagedHeader, with_pages_that_no_heap_has_is_refused) {
  for (const std::uint32_t bytes : {0U, 128U, 4097U, 1U << 21}) {
    change(offsetof(detail::manager_record, page_bytes), bytes, true);
    complaint(errc::corrupted);
    pool_.close();
  }
}

TEST_F(DamagedHeader, of_a_newer_version_is_refused) {
  change(offsetof(detail::manager_record, version), 99, true);
  EXPECT_NE(complaint(errc::newer_version).find("format 99"), std::string::npos);
}
TEST_F(DamagedHeader, of_an_older_version_is_refused) {
  change(offsetof(detail::manager_record, version), 1, true);
  EXPECT_NE(complaint(errc::newer_version).find("format 1, "), std::string::npos);
}
TEST_F(DamagedHeader, with_a_wrong_checksum_is_refused) {
  change(offsetof(detail::manager_record, page_bytes), 1, false);
  EXPECT_NE(complaint(errc::header_damaged).find("checksum"), std::string::npos);
}
TEST_F(DamagedHeader, without_its_magic_number_is_refused) {
  change(0, 1, true);
  EXPECT_NE(complaint(errc::header_damaged).find("magic"), std::string::npos);
}
TEST_F(DamagedHeader, of_another_size_than_the_region_is_refused) {
  change(offsetof(detail::manager_record, replica_bytes), 4096, true);
  EXPECT_NE(complaint(errc::corrupted).find("region 'tx:all'"), std::string::npos);
}

}  // namespace
}  // namespace outlast::tx
