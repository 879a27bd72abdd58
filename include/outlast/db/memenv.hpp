// Stores in ordinary memory, for tests.
#pragma once

#include "namespace.hpp"

namespace OUTLAST_DB_NAMESPACE {

class Env;

/// Returns an Env that keeps its files and its stores in ordinary memory until it is deleted. It
/// forwards other calls to `base_env`. An access to a missing file returns IOError, as in LevelDB.
/// Requires: `base_env` outlives the Env. The caller deletes the Env after its stores.
Env* NewMemEnv(Env* base_env);

}  // namespace OUTLAST_DB_NAMESPACE
