// Goal: the verifier finds a writer that reclaims without regard to readers in other processes, and
// passes one that waits for them. Method: a reclaimer that is not given the pool's slots.
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <tests/catalogue/outside_readers.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

namespace outlast::test {

/// Ignores the slots of the pool.
template <domain::persistence_domain D>
class deaf_epochs : public verify::eager_epochs<D> {
 public:
  template <class... Ignored>
  explicit deaf_epochs(Ignored&&...) {}
};

}  // namespace outlast::test

namespace outlast::lockfree {

template <>
inline constexpr bool waits_for_outside_readers<test::deaf_epochs> = true;

}  // namespace outlast::lockfree

namespace outlast::test {
namespace {

using number = std::uint64_t;
using verify::detail::reader_fate;

template <template <class> class Reclaimer>
using list = lockfree::harris_list<number, number, verify::detail::usual_policy, std::less<number>,
                                   Reclaimer>;
template <class Structure, reader_fate Fate, class... Options>
verify::report explore(double seconds, std::uint64_t executions, const Options&... options) {
  const auto tested =
      verify::detail::make_outside_subject<Structure, Fate>("read_outside", options...);
  verify::options how;
  how.within = verify::detail::beside_outsiders;
  how.seconds = seconds;
  how.max_executions = executions;
  how.minimise = false;
  return verify::explorer(*tested, how).run();
}

TEST(outside_readers, of_a_list_are_found_reading_what_a_deaf_writer_has_freed) {
  const verify::report done = explore<list<deaf_epochs>, reader_fate::dies>(120, 50'000);
  ASSERT_TRUE(done.found) << to_text(done);
  std::puts(to_text(*done.found).c_str());
  EXPECT_NE(done.found->what.find("a block that is free"), std::string::npos) << done.found->what;
}

TEST(outside_readers, that_die_pass) {
  const verify::report done = explore<list<verify::eager_epochs>, reader_fate::dies>(2, 0);
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_GT(done.images_checked, 1000U);
}

TEST(outside_readers, that_are_evicted_pass) {
  const verify::report done = explore<list<verify::eager_epochs>, reader_fate::is_evicted>(2, 0);
  EXPECT_FALSE(done.found) << to_text(*done.found);
  EXPECT_GT(done.images_checked, 1000U);
}

}  // namespace
}  // namespace outlast::test
