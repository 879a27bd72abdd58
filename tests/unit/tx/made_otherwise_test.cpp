// Goal: opening transactions with other options than those of their creation fails with both
// values, also while the pool has them open, and changes nothing. Method: managers of each kind
// that are attached again with other options; pools that are too small for two.
#include <outlast/domain.hpp>
#include <outlast/tx/baselines/cx_puc.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace outlast::tx {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr options made{.replica_bytes = mib, .page_bytes = 1024, .replicas = 3};

struct number {
  field<std::uint64_t> is;
};

template <class Manager>
class MadeOtherwise : public testing::Test {
 protected:
  MadeOtherwise() { Manager first(*pool_, "all", made); }

  void expect_refusal(const options& wanted, const std::string& option, std::uint64_t has) {
    try {
      Manager again(*pool_, "all", wanted);
      ADD_FAILURE() << "was not refused: " << option;
    } catch (const error& refused) {
      const std::string why = refused.what();
      EXPECT_EQ(refused.reason(), errc::bad_argument) << why;
      EXPECT_NE(why.find("options." + option), std::string::npos) << why;
      EXPECT_NE(why.find("have " + std::to_string(has)), std::string::npos) << why;
    }
  }

  test::temp_pool<domain::process> pool_{16 * mib};
};

using on = domain::process;
using managers = testing::Types<left_right<on>, redo_opt<on>, cx_puc<number, on>>;
TYPED_TEST_SUITE(MadeOtherwise, managers);

TYPED_TEST(MadeOtherwise, are_refused) {
  for (const bool is_open : {true, false}) {
    if (!is_open) {
      this->pool_.close();
      this->pool_.open();
    }
    this->expect_refusal({.replica_bytes = 2 * mib}, "replica_bytes", mib);
    this->expect_refusal({.page_bytes = 2048}, "page_bytes", 1024);
    if (!std::is_same_v<TypeParam, left_right<on>>) {
      this->expect_refusal({.replicas = 8}, "replicas", 3);
    }
    {
      TypeParam as_it_is(*this->pool_, "all");
    }
    {
      TypeParam as_it_was_made(*this->pool_, "all", made);
    }
  }
}

TEST(Replicas, behind_a_log_are_as_many_as_each_opening_asks_for) {
  test::temp_directory directory;
  auto pool = basic_pool<domain::logged_file>::create(
      directory.file("p"), {.size_bytes = 16 * mib, .per_operation_device_sync = true});
  {
    redo_opt<domain::logged_file> first(pool, "all", {.replica_bytes = mib, .replicas = 3});
  }
  redo_opt<domain::logged_file> again(pool, "all", {.replica_bytes = mib, .replicas = 5});
}

TEST(Replicas, that_find_no_room_name_the_option) {
  test::temp_pool<on> pool{64 * mib};
  redo_opt<on> first(*pool, "first");
  try {
    redo_opt<on> second(*pool, "second");
    ADD_FAILURE() << "there was room for two";
  } catch (const out_of_space& full) {
    const std::string why = full.what();
    EXPECT_NE(why.find("options.replica_bytes"), std::string::npos) << why;
    EXPECT_NE(why.find("raise its limit"), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace outlast::tx
