// What a store holds becomes another store, while others write.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/changes.hpp>
#include <outlast/db/detail/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::store_detail {

std::uint64_t copy_store(store& from, store& to, const progress_told& tell) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  const std::uint64_t all = from.keys();
  const std::unique_ptr<moment> now = from.now();
  const std::unique_ptr<cursor> at = now->iterate();
  std::uint64_t done = 0;
  changes some;
  const auto hand_over = [&] {
    to.apply(std::exchange(some, changes()), false);
    if (tell) tell(done, all);
  };
  for (at->seek_to_first(); at->is_valid(); at->next()) {
    const auto [key, stored] = at->here();
    if (!is_intact(key, stored)) {
      throw corruption(from.shape().file,
                       "the value of a key of " + std::to_string(key.size()) +
                           " bytes is not what its checksum says; repair the store");
    }
    some.put(key, value_in(stored));
    ++done;
    if (some.bytes() >= at_once) hand_over();
  }
  if (!some.empty()) hand_over();
  return done;
}

}  // namespace outlast::store_detail
