// What programs call before they close a store.
#pragma once

#include "db.h"
#include "rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE {

/// Without effect: no work goes on after the call for it.
inline void CancelAllBackgroundWork(DB* /*db*/, bool /*wait*/ = false) {}

}  // namespace ROCKSDB_NAMESPACE
