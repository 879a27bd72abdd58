// Converts exceptions of the lower layers to a Status.
#include <outlast/base/error.hpp>
#include <src/db/exception_status.hpp>

#include <exception>
#include <new>

namespace OUTLAST_DB_NAMESPACE {

namespace {

Status status_of(const ::outlast::error& failure) {
  using ::outlast::errc;
  switch (failure.reason()) {
    case errc::not_a_pool:
    case errc::truncated:
    case errc::header_damaged:
    case errc::corrupted:
    case errc::torn_by_copying:
    case errc::torn_by_machine_crash:
    case errc::root_type_mismatch: return Status::Corruption(failure.what());
    case errc::newer_version:
    case errc::foreign_machine: return Status::NotSupported(failure.what());
    case errc::already_exists:
    case errc::not_found:
    case errc::bad_argument:
    case errc::too_small: return Status::InvalidArgument(failure.what());
    default: return Status::IOError(failure.what());
  }
}

}  // namespace

Status status_of_current() {
  try {
    throw;
  } catch (const ::outlast::error& failure) {
    return status_of(failure);
  } catch (const ::outlast::out_of_space& full) {
    return Status::IOError("no space", full.what());
  } catch (const std::bad_alloc&) {
    return Status::IOError("out of memory");
  } catch (const std::exception& other) {
    return Status::IOError(other.what());
  } catch (...) {
    return Status::IOError("an exception without a message");
  }
}

}  // namespace OUTLAST_DB_NAMESPACE
