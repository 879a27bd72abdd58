// The observer of the lossy file domains.
#include <outlast/verify/machine/lossy_file.hpp>

#include <utility>

namespace outlast::verify {

constinit file_observer* file_observer::present_ = nullptr;

file_observer* file_observer::replace(file_observer* observer) noexcept {
  return std::exchange(present_, observer);
}

}  // namespace outlast::verify
