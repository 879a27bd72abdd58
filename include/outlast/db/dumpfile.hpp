// LevelDB's files as text: there are none here.
#pragma once

#include "env.hpp"
#include "namespace.hpp"
#include "status.hpp"

#include <string>

namespace OUTLAST_DB_NAMESPACE {

/// NotSupported: the store has none of the files that LevelDB's function shows. `outlast db dump`
/// shows a store.
Status DumpFile(Env* env, const std::string& fname, WritableFile* dst);

}  // namespace OUTLAST_DB_NAMESPACE
