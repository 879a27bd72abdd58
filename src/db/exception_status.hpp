// What exceptions of the layers below are to users of the store.
#pragma once

#include <outlast/db/namespace.hpp>
#include <outlast/db/status.hpp>

#include <utility>

namespace OUTLAST_DB_NAMESPACE {

/// The exception that is being handled, as a status.
[[nodiscard]] Status status_of_current();

/// Calls f(), and answers OK or what its exception is. Throws std::bad_alloc where there is no
/// memory for that sentence.
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
