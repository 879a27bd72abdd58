// Goal: the lossy disk keeps all data that a disk must keep, and loses other data in all possible
// ways. Method: a pool of domain::file on it, pages written by hand, many cuts of one state.
#include <outlast/domain/persist.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/verify/machine/lossy_disk.hpp>
#include <outlast/verify/machine/lossy_file.hpp>
#include <tests/support/memory_folder.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <string>

namespace outlast::test {
namespace {

using domain::lossy_file;
using pool_type = basic_pool<lossy_file>;
using verify::disk_image;

constexpr std::size_t page = 4096;

class LossyDisk : public testing::Test {
 protected:
  LossyDisk() {
    pool_options options;
    options.size_bytes = options.capacity_bytes = std::size_t{256} << 10;
    pool_type::create(path_, options).close();
    disk_.emplace(path_);
    pool_.emplace(path_, options);
  }

  /// A pool may not be moved: it is opened where it stays.
  struct open_pool {
    open_pool(const std::string& path, const pool_options& options)
        : pool(pool_type::open(path, options)) {}
    pool_type pool;
  };

  [[nodiscard]] disk_image cut(const verify::frozen_disk& before) {
    disk_image found;
    before.cut(choices_, found);
    return found;
  }
  /// The address of byte `offset` of the last page but `number`.
  [[nodiscard]] std::byte* at(std::size_t number, std::size_t offset = 0) {
    auto& pages = pool_->pool.pages();
    void* const first = pages.address_of(pages.limit() - 1 - static_cast<std::uint32_t>(number));
    return static_cast<std::byte*>(first) + offset;
  }
  void fill(std::size_t number, char value) {
    const std::string bytes(page, value);
    lossy_file::write(at(number), bytes.data(), page);
  }
  /// That page in an image.
  [[nodiscard]] const char* in(const disk_image& image, std::size_t number) {
    return reinterpret_cast<const char*>(image.pool.data()) +
           (at(number) - reinterpret_cast<std::byte*>(pool_->pool.base()));
  }

  scratch_folder folder_;
  std::string path_ = (folder_.path() / "pool").string();
  std::optional<verify::lossy_disk> disk_;
  std::optional<open_pool> pool_;
  verify::random choices_{1};
};

TEST_F(LossyDisk, keeps_what_was_synced_in_every_cut) {
  fill(0, 'a');
  domain::persist<lossy_file>(at(0), page);
  fill(1, 'b');
  const verify::frozen_disk before = disk_->freeze();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(std::string(in(cut(before), 0), page), std::string(page, 'a'));
  }
}

TEST_F(LossyDisk, may_keep_or_lose_a_page_that_was_only_noted) {
  fill(0, 'a');
  lossy_file::pwb(at(0));
  const verify::frozen_disk before = disk_->freeze();
  std::set<char> first_bytes;
  for (int i = 0; i < 100; ++i) first_bytes.insert(*in(cut(before), 0));
  EXPECT_EQ(first_bytes, (std::set<char>{'\0', 'a'}));
  lossy_file::psync();
}

TEST_F(LossyDisk, lets_pages_fare_each_for_itself) {
  fill(0, 'a');
  fill(1, 'b');
  const verify::frozen_disk before = disk_->freeze();
  std::set<std::string> pairs;
  for (int i = 0; i < 500; ++i) {
    const disk_image found = cut(before);
    pairs.insert({*in(found, 0), *in(found, 1)});
  }
  EXPECT_EQ(pairs.size(), 4U);
}

/// The sizes, in bytes, of the parts of a torn page that fared alike.
std::set<std::size_t> grains(const char* bytes) {
  std::set<std::size_t> found;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= page; ++i) {
    if (i < page && bytes[i] == bytes[begin]) continue;
    found.insert(i - begin);
    begin = i;
  }
  return found;
}

TEST_F(LossyDisk, tears_pages_between_sectors_and_between_lines_and_nowhere_else) {
  fill(0, 'a');
  const verify::frozen_disk before = disk_->freeze();
  bool between_sectors = false;
  bool between_lines = false;
  for (int i = 0; i < 300; ++i) {
    const disk_image found = cut(before);
    const std::set<std::size_t> sizes = grains(in(found, 0));
    EXPECT_EQ(*sizes.begin() % 64, 0U);
    if (*sizes.begin() == 512) between_sectors = true;
    if (*sizes.begin() == 64) between_lines = true;
  }
  EXPECT_TRUE(between_sectors);
  EXPECT_TRUE(between_lines);
}

TEST_F(LossyDisk, may_keep_what_was_cached_between_two_syncs) {
  fill(0, 'a');
  for (int i = 0; i < 100; ++i) disk_->write_back_something(choices_);
  fill(0, 'b');
  const verify::frozen_disk before = disk_->freeze();
  std::set<char> first_bytes;
  for (int i = 0; i < 100; ++i) first_bytes.insert(*in(cut(before), 0));
  EXPECT_EQ(first_bytes, (std::set<char>{'a', 'b'}));
}

TEST_F(LossyDisk, keeps_everything_that_a_close_left) {
  fill(0, 'a');
  pool_->pool.close();
  const verify::frozen_disk before = disk_->freeze();
  EXPECT_EQ(before.durable, before.cached);
}

TEST_F(LossyDisk, restores_the_file_that_a_cut_left) {
  fill(0, 'a');
  const disk_image without = disk_->freeze().durable;
  pool_.reset();
  disk_->restore(without);
  const verify::frozen_disk after = disk_->freeze();
  EXPECT_EQ(after.cached, without);
  EXPECT_EQ(after.durable, without);
}

TEST_F(LossyDisk, with_a_fault_forgets_what_was_synced) {
  disk_->faults.drops_one_page_in = 1;
  fill(0, 'a');
  domain::persist<lossy_file>(at(0), page);
  const disk_image durable = disk_->freeze().durable;
  EXPECT_EQ(*in(durable, 0), '\0');
}

}  // namespace
}  // namespace outlast::test
