// The stores of an Env in memory.
#pragma once

#include <outlast/db/detail/engine.hpp>
#include <outlast/db/env.hpp>
#include <outlast/db/namespace.hpp>

#include <memory>
#include <string>

namespace OUTLAST_DB_NAMESPACE {

/// An Env that keeps stores in ordinary memory.
/// Thread-safety: all members may be called concurrently.
class store_owner {
 public:
  virtual ~store_owner() = default;
  /// The file `path` of a store, made if it is not there. It is an ordinary file to the Env, so
  /// that it is found, and removed with that.
  virtual std::shared_ptr<::outlast::store_detail::memory_file> store_file(
      const std::string& path) = 0;
};

/// `env` as such a one; null if it is none. (An Env of a program's may have no run-time type.)
[[nodiscard]] store_owner* owner_of(const Env* env);

}  // namespace OUTLAST_DB_NAMESPACE
