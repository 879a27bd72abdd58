// LevelDB's function that prints its files, which a store does not have.
#pragma once

#include "env.hpp"
#include "namespace.hpp"
#include "status.hpp"

#include <string>

namespace OUTLAST_DB_NAMESPACE {

/// Returns NotSupported: a store has none of the files that LevelDB's function prints. The command
/// `outlast db dump` prints a store.
Status DumpFile(Env* env, const std::string& fname, WritableFile* dst);

}  // namespace OUTLAST_DB_NAMESPACE
