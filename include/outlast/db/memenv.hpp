// Stores in ordinary memory, for tests.
#pragma once

#include "namespace.hpp"

namespace OUTLAST_DB_NAMESPACE {

class Env;

/// Keeps files, and stores that are opened with it, in ordinary memory until it is deleted; has the
/// rest of `base_env`, which outlives it. The caller deletes it, after its stores. A file that is
/// not there is an IOError, as in LevelDB.
Env* NewMemEnv(Env* base_env);

}  // namespace OUTLAST_DB_NAMESPACE
