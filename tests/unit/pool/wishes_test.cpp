// Goal: an option that is set has its effect when a pool is opened, or the opening is refused with
// both values and leaves the pool unchanged. Default values request nothing. Method: pools that are
// opened again with other options.
#include <outlast/domain.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace outlast {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

template <domain::persistence_domain D>
class Wishes : public testing::Test {
 protected:
  using pool_type = basic_pool<D>;

  Wishes() {
    auto made = pool_type::create(
        path_, {.size_bytes = 2 * mib, .capacity_bytes = 8 * mib, .format_version = 1});
    made.close();
  }

  void expect_refusal(const pool_options& wanted, const std::string& asked,
                      const std::string& has) {
    for (const bool creates : {false, true}) {
      try {
        if (creates) {
          (void)pool_type::open_or_create(path_, wanted);
        } else {
          (void)pool_type::open(path_, wanted);
        }
        ADD_FAILURE() << "was not refused: " << asked;
      } catch (const error& refused) {
        const std::string why = refused.what();
        EXPECT_EQ(refused.reason(), errc::bad_argument) << why;
        EXPECT_NE(why.find(asked), std::string::npos) << why;
        EXPECT_NE(why.find(has), std::string::npos) << why;
      }
    }
    auto as_it_is = pool_type::open(path_);
    EXPECT_FALSE(as_it_is.was_dirty());
    as_it_is.close();
  }

  test::temp_directory directory_;
  std::string path_ = directory_.file("p");
};

using domains = testing::Types<domain::native, domain::logged_file>;
TYPED_TEST_SUITE(Wishes, domains);

TYPED_TEST(Wishes, that_cannot_be_met_are_refused) {
  const std::string has = std::to_string(8 * mib);
  this->expect_refusal({.capacity_bytes = 16 * mib},
                       "capacity_bytes is " + std::to_string(16 * mib), has);
  this->expect_refusal({.size_bytes = 9 * mib}, "size_bytes is " + std::to_string(9 * mib), has);
  this->expect_refusal({.reserve_shadow_copy = true}, "reserve_shadow_copy", "no address space");
}

TYPED_TEST(Wishes, that_are_met_and_defaults_change_nothing) {
  using pool_type = typename TestFixture::pool_type;
  pool_type::open(this->path_).close();
  pool_type::open(this->path_, {.size_bytes = 2 * mib, .capacity_bytes = 8 * mib}).close();
  // Sizes are rounded up as they are at creation.
  auto opened = pool_type::open(this->path_, {.size_bytes = 2 * mib - 100});
  EXPECT_EQ(opened.size_bytes(), 2 * mib);
  EXPECT_EQ(opened.capacity_bytes(), 8 * mib);
}

TYPED_TEST(Wishes, for_more_space_are_granted) {
  using pool_type = typename TestFixture::pool_type;
  {
    auto opened = pool_type::open(this->path_, {.size_bytes = 4 * mib});
    EXPECT_EQ(opened.size_bytes(), 4 * mib);
    opened.close();
  }
  auto opened = pool_type::open(this->path_);
  EXPECT_EQ(opened.size_bytes(), 4 * mib);
}

TYPED_TEST(Wishes, for_less_space_are_met_by_more) {
  using pool_type = typename TestFixture::pool_type;
  {
    auto opened = pool_type::open(this->path_);
    opened.grow(4 * mib);
    opened.close();
  }
  pool_type::open(this->path_, {.size_bytes = 2 * mib, .capacity_bytes = 4 * mib}).close();
  auto opened = pool_type::open_or_create(this->path_, {.size_bytes = 2 * mib});
  EXPECT_EQ(opened.size_bytes(), 4 * mib);
}

std::string message_of_full(pool& in) {
  lockfree::hash_table<std::uint64_t, std::uint64_t> table(in, "t");
  try {
    for (std::uint64_t key = 0;; ++key) table.insert(key, key);
  } catch (const out_of_space& full) {
    return full.what();
  }
}

TEST(FullPools, name_their_size_and_what_makes_room) {
  test::temp_directory directory;
  {
    auto in = pool::create(directory.file("p"),
                           {.size_bytes = mib, .capacity_bytes = 2 * mib, .format_version = 2});
    const std::string is_full = message_of_full(in);
    EXPECT_NE(is_full.find("in its file of " + std::to_string(2 * mib)), std::string::npos)
        << is_full;
    EXPECT_NE(is_full.find("raise its limit of " + std::to_string(2 * mib)), std::string::npos)
        << is_full;
  }
  auto in = pool::create(directory.file("q"),
                         {.size_bytes = mib, .capacity_bytes = 2 * mib, .format_version = 1});
  const std::string is_whole = message_of_full(in);
  EXPECT_NE(is_whole.find("a pool of more capacity_bytes"), std::string::npos) << is_whole;
}

}  // namespace
}  // namespace outlast
