// Copies the contents of an open store into a new store, while other threads write.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/changes.hpp>
#include <outlast/db/detail/engine.hpp>
#include <src/db/filled_store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::store_detail {

namespace {

/// The order of arrival: each key is greater than all earlier ones. Requires: each key arrives
/// once.
class arrival {
 public:
  void set_newest(std::string_view key) { newest_.assign(key); }
  [[nodiscard]] key_order order() const { return {this, &compare}; }

 private:
  static int compare(const void* who, std::string_view a, std::string_view b) {
    const std::string& newest = static_cast<const arrival*>(who)->newest_;
    const int is_first = a == newest ? 1 : 0;
    const int is_second = b == newest ? 1 : 0;
    return is_first - is_second;
  }

  std::string newest_;
};

/// Takes a snapshot. If the store is full, releases the space of ended snapshots and tries again.
std::unique_ptr<snapshot> snapshot_of(engine& of) {
  try {
    return of.take_snapshot();
  } catch (const out_of_space&) {
    of.collect();
    return of.take_snapshot();
  }
}

/// Puts all entries of `from` into `to`. If `arriving` is not null, `to` is in the order of
/// arrival.
std::uint64_t put_all(engine& from, engine& to, arrival* arriving,
                      const progress_callback& progress) {
  constexpr std::size_t batch_bytes = std::size_t{1} << 20;
  const std::uint64_t all = from.keys();
  const std::unique_ptr<snapshot> now = snapshot_of(from);
  const std::unique_ptr<cursor> at = now->iterate();
  std::uint64_t done = 0;
  std::size_t unreported = 0;
  changes some;
  const auto hand_over = [&] {
    unreported += some.bytes();
    to.apply(std::exchange(some, changes()), false);
    if (!progress || unreported < batch_bytes) return;
    unreported = 0;
    progress(done, all);
  };
  for (at->seek_to_first(); at->is_valid(); at->next()) {
    const auto [key, value] = at->here();
    if (!at->is_intact()) {
      throw corruption(from.shape().file,
                       "the value of a key of " + std::to_string(key.size()) +
                           " bytes does not match its checksum; repair the store");
    }
    if (arriving != nullptr) arriving->set_newest(key);
    some.put(key, value);
    ++done;
    if (some.bytes() >= batch_bytes || arriving != nullptr) hand_over();
  }
  if (!some.empty()) hand_over();
  if (progress && unreported != 0) progress(done, all);
  return done;
}

}  // namespace

std::uint64_t copy_store(engine& from, store_options wanted,
                         const std::function<std::unique_ptr<engine>(const store_options&)>& make,
                         const std::function<void()>& remove, const progress_callback& progress) {
  arrival arriving;
  const bool is_unordered = std::exchange(wanted.any_order, false);
  if (is_unordered) wanted.order = arriving.order();
  std::uint64_t done = 0;
  fill_new_store(
      std::move(wanted), make,
      [&](engine& to) { done = put_all(from, to, is_unordered ? &arriving : nullptr, progress); },
      remove);
  return done;
}

}  // namespace outlast::store_detail
