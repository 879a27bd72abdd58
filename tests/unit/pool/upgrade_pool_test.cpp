// Goal: a pool of format version 1 that is converted has all its contents and grows; a conversion
// that was cut off leaves a pool of one of the versions; a refused one changes nothing. Method:
// pools of several capacities, closed and killed, converted in both ways; files that are put
// together of the bytes before and after.
#include <outlast/domain.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/detail/upgrade.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/reasons.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <tuple>

namespace outlast {
namespace {

using pool_format::line_bytes;
using pool_format::page_bytes;
using test::reason_of;
using test::temp_directory;
namespace fs = std::filesystem;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr unsigned few_roots = 5;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Keeps the file itself: a copy of a pool that was not closed would be refused.
void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::in | std::ios::out) << bytes;
  fs::resize_file(path, bytes.size());
}

pool_format::parsed_header header_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string page(page_bytes, '\0');
  in.read(page.data(), page_bytes);
  const auto reading = pool_format::read_header(std::as_bytes(std::span(page)));
  EXPECT_TRUE(reading.header);
  return reading.header.value();
}

std::uint32_t version_of(const std::string& path) { return header_of(path).fixed.format_version; }

void upgrade_file(const std::string& path) {
  pool_detail::upgrade_unopened(pool_detail::mapped_file::open(path));
}

template <domain::persistence_domain D>
void add_root(basic_pool<D>& target, const std::string& name, std::uint32_t pages, int byte) {
  const attached_root root = target.attach_root(name, "bytes", 1, true);
  const std::size_t bytes = pages * page_bytes;
  void* const object =
      target.pages().allocate_run(pool_format::run_kind::large, root.index, 1, pages, bytes);
  std::memset(object, byte, bytes);
  domain::persist<D>(object, bytes);
  target.publish_root(root.index, object);
  target.detach_root(root.index, false);
}

template <domain::persistence_domain D>
void expect_root(basic_pool<D>& target, const std::string& name, std::uint32_t pages, int byte) {
  const attached_root root = target.attach_root(name, "bytes", 1, true);
  ASSERT_NE(root.object_offset, 0U) << name;
  const auto* const bytes = reinterpret_cast<const std::byte*>(target.base() + root.object_offset);
  EXPECT_TRUE(std::all_of(bytes, bytes + pages * page_bytes, [byte](std::byte each) {
    return each == std::byte(byte);
  })) << name;
  target.root_relocated(root.index);
  target.detach_root(root.index, false);
}

template <domain::persistence_domain D>
void fill(basic_pool<D>& target) {
  for (unsigned i = 0; i < few_roots; ++i) {
    add_root(target, "r" + std::to_string(i), i + 1, static_cast<int>(i + 1));
  }
  const region_info region = target.reserve_region("copies", region_kind::replicas, 5000, 2);
  for (unsigned i = 0; i < 2; ++i) {
    std::memset(region.replica(i), static_cast<int>(0x70 + i), 5000);
    domain::persist<D>(region.replica(i), 5000);
  }
}

/// Fills all pages.
void fill_rest(pool& target) {
  const attached_root root = target.attach_root("full", "bytes", 1, true);
  void* first = nullptr;
  for (const std::uint32_t pages : {2048U, 256U, 16U, 1U}) {
    try {
      for (;;) {
        const std::size_t bytes = pages * page_bytes;
        void* const run =
            target.pages().allocate_run(pool_format::run_kind::large, root.index, 1, pages, bytes);
        std::memset(run, 0x33, bytes);
        if (first == nullptr) first = run;
      }
    } catch (const out_of_space&) {  // shorter runs are left
    }
  }
  target.publish_root(root.index, first);
  target.detach_root(root.index, false);
}

/// Returns the pages of a pool that fill_rest() has filled.
std::uint64_t expect_full(pool& target) {
  const attached_root root = target.attach_root("full", "bytes", 1, true);
  std::uint64_t count = 0;
  target.pages().for_each_run([&](std::uint32_t page, pool_format::run_word run) {
    if (run.owner != root.index) return;
    const auto* const bytes = static_cast<const std::byte*>(target.pages().address_of(page));
    EXPECT_EQ(bytes[0], std::byte{0x33});
    EXPECT_EQ(std::memcmp(bytes, bytes + 1, run.pages * page_bytes - 1), 0);
    count += run.pages;
  });
  target.root_relocated(root.index);
  target.detach_root(root.index, false);
  return count;
}

template <domain::persistence_domain D>
void expect_contents(basic_pool<D>& target) {
  EXPECT_FALSE(pool_format::has_errors(target.check()));
  for (unsigned i = 0; i < few_roots; ++i) {
    expect_root(target, "r" + std::to_string(i), i + 1, static_cast<int>(i + 1));
  }
  const auto region = target.find_region("copies");
  ASSERT_TRUE(region);
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(region->replica(i)[0], std::byte(0x70 + i));
    EXPECT_EQ(region->replica(i)[4999], std::byte(0x70 + i));
  }
}

void expect_sound(const std::string& path) {
  for (const pool_format::finding& one : pool_format::check_file(path)) {
    EXPECT_EQ(one.level, pool_format::severity::note) << one.sentence;
  }
}

/// Adds pages beyond the old capacity.
void expect_growth(pool& target, std::size_t old_capacity, const std::string& name = "grown") {
  unsigned count = 0;
  while (target.size_bytes() <= old_capacity + mib) {
    ASSERT_LT(count, 200U);
    add_root(target, name + std::to_string(count++), 512, 0x44);
  }
  for (unsigned i = 0; i < count; ++i) {
    expect_root(target, name + std::to_string(i), 512, 0x44);
  }
}

// ---- contents ----

struct size_case {
  const char* name;
  std::size_t size;
  std::size_t capacity;
  bool full = false;
};

class UpgradePool : public testing::TestWithParam<std::tuple<size_case, bool, bool>> {
 protected:
  [[nodiscard]] static const size_case& sizes() { return std::get<0>(GetParam()); }
  [[nodiscard]] static bool is_closed() { return std::get<1>(GetParam()); }
  [[nodiscard]] static bool by_opening() { return std::get<2>(GetParam()); }

  void make() {
    pool made = pool::create(
        path_,
        {.size_bytes = sizes().size, .capacity_bytes = sizes().capacity, .format_version = 1});
    fill(made);
    if (sizes().full) fill_rest(made);
    if (sizes().full) filled_ = expect_full(made);
    capacity_ = made.capacity_bytes();
    if (is_closed()) made.close();
  }
  pool upgraded() {
    if (by_opening()) return pool::open(path_, {.upgrade = true});
    upgrade_file(path_);
    EXPECT_EQ(version_of(path_), 2U);
    expect_sound(path_);
    return pool::open(path_);
  }

  temp_directory folder_;
  std::string path_ = folder_.file("pool");
  std::uint64_t filled_ = 0;  ///< pages
  std::size_t capacity_ = 0;
};

TEST_P(UpgradePool, has_its_contents_and_grows) {
  make();
  EXPECT_EQ(version_of(path_), 1U);
  {
    pool target = upgraded();
    EXPECT_EQ(target.was_dirty(), !is_closed());
    expect_contents(target);
    EXPECT_GE(target.capacity_bytes(), std::size_t{2} << 30);  // more than any of these had
    target.close();
  }
  EXPECT_EQ(version_of(path_), 2U);
  expect_sound(path_);
  {
    pool target = pool::open(path_);
    expect_contents(target);
    for (unsigned i = 0; i < 300; ++i) add_root(target, "many" + std::to_string(i), 1, 9);
    if (capacity_ < 512 * mib) expect_growth(target, capacity_);  // tests have a limit of 1 GiB
  }  // not closed
  expect_sound(path_);
  pool target = pool::open(path_);
  expect_contents(target);
  for (unsigned i = 0; i < 300; ++i) expect_root(target, "many" + std::to_string(i), 1, 9);
  if (capacity_ < 512 * mib) expect_growth(target, target.size_bytes(), "again");
  for (unsigned i = 0; i < 300; ++i) target.drop_root("many" + std::to_string(i));
  if (sizes().full) {
    EXPECT_EQ(expect_full(target), filled_);
    EXPECT_GT(filled_, 16000U);
    target.drop_root("full");
  }
  target.trim();
  expect_contents(target);
  target.close();
  expect_sound(path_);
  pool last = pool::open(path_);
  expect_contents(last);
}

std::string name_of_case(const testing::TestParamInfo<UpgradePool::ParamType>& of) {
  return std::string(std::get<0>(of.param).name) + (std::get<1>(of.param) ? "_closed" : "_killed") +
         (std::get<2>(of.param) ? "_by_opening" : "");
}

INSTANTIATE_TEST_SUITE_P(
    of_version_1, UpgradePool,
    testing::Combine(testing::Values(size_case{"least", mib, mib},
                                     size_case{"three_mib", 2 * mib, 3 * mib},
                                     size_case{"whole_zone", 8 * mib, 64 * mib},
                                     size_case{"odd", 8 * mib, 100 * mib},
                                     size_case{"usual", mib, 0},
                                     size_case{"full", 70 * mib + 3 * page_bytes,
                                               70 * mib + 3 * page_bytes, true},
                                     size_case{"full_zone", 64 * mib, 64 * mib, true}),
                     testing::Bool(), testing::Bool()),
    name_of_case);

template <class D>
class UpgradeOfDomain : public testing::Test {};
using domains = testing::Types<domain::file, domain::logged_file>;
TYPED_TEST_SUITE(UpgradeOfDomain, domains);

TYPED_TEST(UpgradeOfDomain, has_its_contents_at_each_opening) {
  using pool_type = basic_pool<TypeParam>;
  const temp_directory folder;
  const std::string path = folder.file("pool");
  pool_options options{.size_bytes = 2 * mib, .capacity_bytes = 3 * mib, .format_version = 1};
  {
    pool_type made = pool_type::create(path, options);
    fill(made);
    TypeParam::psync();
  }
  {
    pool_type target = pool_type::open(path, {.upgrade = true});
    expect_contents(target);
    add_root(target, "large", 1024, 0x55);
    TypeParam::psync();
  }
  EXPECT_EQ(version_of(path), 2U);
  {
    pool_type target = pool_type::open(path);
    expect_contents(target);
    expect_root(target, "large", 1024, 0x55);
    target.close();
  }
  expect_sound(path);
}

// ---- interrupted ----

class InterruptedUpgrade : public testing::TestWithParam<bool> {
 protected:
  InterruptedUpgrade() {
    {
      pool made = pool::create(
          path_, {.size_bytes = 2 * mib, .capacity_bytes = 3 * mib, .format_version = 1});
      fill(made);
      if (GetParam()) made.close();
    }
    before_ = read_file(path_);
    upgrade_file(path_);
    after_ = read_file(path_);
    words_ = header_of(path_).fixed.line_table_offset + line_bytes;
  }
  /// The file after the first step: it is longer, with the chunk.
  [[nodiscard]] std::string lengthened() const { return before_ + after_.substr(before_.size()); }
  [[nodiscard]] std::string with_words() const {
    std::string bytes = lengthened();
    const std::size_t size = sizeof(pool_format::growth_words);
    return bytes.replace(words_, size, after_, words_, size);
  }
  /// With a part of the last line from the end.
  [[nodiscard]] std::string with(std::size_t offset, std::size_t size) const {
    return with_words().replace(offset, size, after_, offset, size);
  }
  void expect_opens_as(std::uint32_t version, const std::string& bytes) {
    ASSERT_NE(bytes, before_);
    overwrite(path_, bytes);
    expect_sound(path_);
    {
      pool target = pool::open(path_);
      expect_contents(target);
      EXPECT_EQ(target.was_dirty(), !GetParam());
      target.close();
    }
    EXPECT_EQ(version_of(path_), version);
    expect_sound(path_);
    EXPECT_TRUE(has_right_checksum());
    // The repetition.
    overwrite(path_, bytes);
    upgrade_file(path_);
    expect_sound(path_);
    pool target = pool::open(path_);
    EXPECT_EQ(version_of(path_), 2U);
    expect_contents(target);
    expect_growth(target, 3 * mib);
  }
  [[nodiscard]] bool has_right_checksum() const {
    pool_format::header_page page{};
    std::memcpy(static_cast<void*>(&page), read_file(path_).data(), sizeof page);
    return page.fixed.checksum == header_checksum(page);
  }

  temp_directory folder_;
  std::string path_ = folder_.file("pool");
  std::string before_;
  std::string after_;
  std::size_t words_ = 0;
};

TEST_P(InterruptedUpgrade, after_the_chunks_is_of_version_1) { expect_opens_as(1, lengthened()); }

TEST_P(InterruptedUpgrade, in_the_words_is_of_version_1) {
  std::string bytes = with_words();
  bytes.replace(words_ + 64, 700, before_, words_ + 64, 700);
  expect_opens_as(1, bytes);
}

TEST_P(InterruptedUpgrade, after_the_words_is_of_version_1) { expect_opens_as(1, with_words()); }

TEST_P(InterruptedUpgrade, with_the_old_checksum_is_of_version_2) {
  expect_opens_as(2, with(offsetof(pool_format::static_header, format_version), 4));
}

TEST_P(InterruptedUpgrade, with_the_old_version_is_of_version_1) {
  expect_opens_as(1, with(offsetof(pool_format::static_header, checksum), 8));
}

TEST_P(InterruptedUpgrade, at_its_end_is_of_version_2) { expect_opens_as(2, after_); }

TEST_P(InterruptedUpgrade, may_be_followed_by_growth_of_version_1) {
  overwrite(path_, with_words());
  {
    pool target = pool::open(path_);
    target.grow(3 * mib);
    add_root(target, "later", 100, 7);
    if (GetParam()) target.close();
  }
  EXPECT_EQ(version_of(path_), 1U);
  pool target = pool::open(path_, {.upgrade = true});
  expect_contents(target);
  expect_root(target, "later", 100, 7);
  expect_growth(target, 3 * mib);
}

/// The first opening is killed before it removes the word.
TEST_P(InterruptedUpgrade, keeps_the_word_of_the_length_until_the_state_has_it) {
  const auto floor_of = [this] {
    std::uint64_t word = 0;
    std::memcpy(&word,
                read_file(path_).data() + words_ + offsetof(pool_format::growth_words, floor),
                sizeof word);
    return word;
  };
  EXPECT_NE(floor_of(), 0U);
  EXPECT_LT(header_of(path_).file_bytes(), after_.size());
  fs::resize_file(path_, after_.size() - page_bytes);
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::truncated);
  EXPECT_TRUE(pool_format::has_errors(pool_format::check_file(path_)));
  overwrite(path_, after_);
  {
    const pool target = pool::open(path_);
  }
  EXPECT_EQ(floor_of(), 0U);
  EXPECT_EQ(header_of(path_).file_bytes(), after_.size());
  EXPECT_EQ(fs::file_size(path_), after_.size());
}

TEST_P(InterruptedUpgrade, reports_a_damaged_word_of_the_length) {
  after_[words_ + offsetof(pool_format::growth_words, floor)] ^= 1;
  overwrite(path_, after_);
  EXPECT_THROW((void)pool::open(path_), corruption);
  EXPECT_TRUE(pool_format::has_errors(pool_format::check_file(path_)));
}

INSTANTIATE_TEST_SUITE_P(pools, InterruptedUpgrade, testing::Bool(),
                         [](const auto& of) { return of.param ? "closed" : "killed"; });

// ---- refused ----

class RefusedUpgrade : public testing::Test {
 protected:
  ~RefusedUpgrade() override {
    pool_detail::test_hooks().boot.reset();
    pool_detail::test_hooks().dax_alignment.reset();
  }
  template <class D = domain::native>
  void make(std::size_t size, std::size_t capacity, bool close = true, bool shadows = false) {
    using pool_type = basic_pool<D>;
    pool_type made = pool_type::create(path_, {.size_bytes = size,
                                               .capacity_bytes = capacity,
                                               .format_version = 1,
                                               .reserve_shadow_copy = shadows});
    if (close) made.close();
  }
  void expect_refused(errc reason, errc reason_at_opening) {
    const std::string before = read_file(path_);
    EXPECT_EQ(reason_of([&] { upgrade_file(path_); }), reason);
    EXPECT_EQ(reason_of([&] { (void)pool::open(path_, {.upgrade = true}); }), reason_at_opening);
    EXPECT_TRUE(read_file(path_) == before);
  }

  temp_directory folder_;
  std::string path_ = folder_.file("pool");
};

TEST_F(RefusedUpgrade, of_a_pool_with_too_small_a_table) {
  make(256 << 10, 512 << 10);
  expect_refused(errc::refused, errc::refused);
}

TEST_F(RefusedUpgrade, of_a_pool_whose_shadow_copies_are_in_the_way) {
  make(32 * mib, 32 * mib, true, true);
  expect_refused(errc::refused, errc::refused);
}

TEST_F(RefusedUpgrade, of_a_torn_pool) {
  make(2 * mib, 3 * mib, false);
  pool_detail::test_hooks().boot = pool_format::boot_id{7, 7};
  expect_refused(errc::torn_by_machine_crash, errc::torn_by_machine_crash);
}

TEST_F(RefusedUpgrade, of_a_copy_of_an_open_pool) {
  make(2 * mib, 3 * mib, false);
  const std::string copy = folder_.file("copy");
  fs::copy_file(path_, copy);
  path_ = copy;
  expect_refused(errc::torn_by_copying, errc::torn_by_copying);
}

TEST_F(RefusedUpgrade, of_a_truncated_pool) {
  make(2 * mib, 3 * mib);
  fs::resize_file(path_, 2 * mib - page_bytes);
  expect_refused(errc::truncated, errc::truncated);
}

TEST_F(RefusedUpgrade, of_an_open_pool) {
  make(2 * mib, 3 * mib);
  const pool holder = pool::open(path_);
  expect_refused(errc::already_open, errc::already_open);
}

TEST_F(RefusedUpgrade, of_a_pool_whose_log_has_to_be_brought_in) {
  make<domain::logged_file>(2 * mib, 3 * mib, false);
  const std::string before = read_file(path_);
  EXPECT_EQ(reason_of([&] { upgrade_file(path_); }), errc::refused);
  EXPECT_TRUE(read_file(path_) == before);
}

TEST_F(RefusedUpgrade, unless_it_is_chosen) {
  make(2 * mib, 3 * mib);
  {
    const pool target = pool::open(path_);
  }
  EXPECT_EQ(version_of(path_), 1U);
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_, {.capacity_bytes = 8 * mib}); }),
            errc::bad_argument);
  pool target = pool::open(path_, {.capacity_bytes = 8 * mib, .upgrade = true});
  EXPECT_EQ(target.capacity_bytes(), 8 * mib);
}

// ---- on a DAX device ----

class UpgradeOnDevice : public RefusedUpgrade {
 protected:
  void make_on(std::size_t device, std::size_t size, std::size_t capacity) {
    std::ofstream(path_) << std::string(device, 'x');
    pool_detail::test_hooks().dax_alignment = 2 * mib;
    pool made =
        pool::create(path_, {.size_bytes = size, .capacity_bytes = capacity, .format_version = 1});
    fill(made);
    made.close();
  }
};

TEST_F(UpgradeOnDevice, uses_the_rest_of_the_device) {
  make_on(48 * mib, 24 * mib, 32 * mib);
  upgrade_file(path_);
  expect_sound(path_);
  {
    pool target = pool::open(path_);
    expect_contents(target);
    expect_growth(target, 32 * mib);
    EXPECT_EQ(target.capacity_bytes(), 48 * mib);
    target.close();
  }
  expect_sound(path_);
  pool target = pool::open(path_);
  expect_contents(target);
}

TEST_F(UpgradeOnDevice, is_refused_if_it_has_no_room) {
  make_on(32 * mib, 32 * mib, 32 * mib);
  expect_refused(errc::refused, errc::refused);
}

}  // namespace
}  // namespace outlast
