// The interface through which a store finds its memory in an Env of NewMemEnv().
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
  /// Returns the file `path` of a store; creates it if it does not exist. The Env lists and removes
  /// it like every other file.
  virtual std::shared_ptr<::outlast::store_detail::memory_file> store_file(
      const std::string& path) = 0;
};

/// Returns `env` as a store_owner, or nullptr if it is not one. It does not use run-time types,
/// which the Env of a program may not have.
[[nodiscard]] store_owner* owner_of(const Env* env);

}  // namespace OUTLAST_DB_NAMESPACE
