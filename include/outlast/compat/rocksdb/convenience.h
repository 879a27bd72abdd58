// A function that programs call before they close a store.
#pragma once

#include "db.h"
#include "rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE {

/// Has no effect: the store has no background work that could continue.
inline void CancelAllBackgroundWork(DB* /*db*/, bool /*wait*/ = false) {}

}  // namespace ROCKSDB_NAMESPACE
