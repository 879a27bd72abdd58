// The numbers of owners of per-thread objects.
#include <outlast/base/per_thread.hpp>

namespace outlast::base {

std::uint64_t next_owner_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace outlast::base
