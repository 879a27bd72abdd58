// The text of errors and the category of their codes.
#include <outlast/base/error.hpp>
#include <src/base/immortal.hpp>

namespace outlast {
namespace {

class category_type final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "outlast"; }

  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::not_a_pool: return "not a pool file";
      case errc::truncated: return "the pool file is truncated";
      case errc::header_damaged: return "the pool's header is damaged";
      case errc::newer_version: return "the pool was written by a newer version";
      case errc::foreign_machine: return "the pool belongs to another kind of machine";
      case errc::already_open: return "the pool is open elsewhere";
      case errc::read_only: return "the pool file cannot be written";
      case errc::no_space: return "the file system is full";
      case errc::pool_full: return "the pool is full";
      case errc::address_taken: return "the pool's address range is taken";
      case errc::too_small: return "the size is too small for a pool";
      case errc::already_exists: return "the file exists";
      case errc::not_found: return "not found";
      case errc::root_type_mismatch: return "the root has another type";
      case errc::roots_exhausted: return "no free entry for another root";
      case errc::torn_by_machine_crash: return "the pool was torn by a machine crash";
      case errc::corrupted: return "the pool is corrupted";
      case errc::forked: return "the pool belongs to the parent process";
      case errc::refused: return "refused on this mapping";
      case errc::io_failure: return "the device reported an error";
      case errc::bad_argument: return "bad argument";
      case errc::closed: return "the pool is closed";
      case errc::torn_by_copying: return "the pool is a copy that was made while it was open";
    }
    return "unknown error";
  }
};

constinit base::immortal<category_type> category;

}  // namespace

const std::error_category& error_category() noexcept { return category.value; }

}  // namespace outlast
