#include <outlast/verify/lossy_file.hpp>

#include <utility>

namespace outlast::domain {

constinit verify::file_observer* lossy_file::observer_ = nullptr;

verify::file_observer* lossy_file::watched_by(verify::file_observer* observer) noexcept {
  return std::exchange(observer_, observer);
}

}  // namespace outlast::domain
