// Converts exceptions of the lower layers to a Status, at the boundary of the store.
#pragma once

#include <outlast/db/namespace.hpp>
#include <outlast/db/status.hpp>

#include <utility>

namespace OUTLAST_DB_NAMESPACE {

/// Returns the status for the exception that is being handled.
[[nodiscard]] Status status_of_current();

/// Calls f() and returns OK, or the status for its exception. Throws std::bad_alloc if there is no
/// memory for the error text.
template <class F>
[[nodiscard]] Status guarded(F&& f) {
  try {
    std::forward<F>(f)();
    return {};
  } catch (...) {
    return status_of_current();
  }
}

}  // namespace OUTLAST_DB_NAMESPACE
