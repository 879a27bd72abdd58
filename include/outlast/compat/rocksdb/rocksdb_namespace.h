// ROCKSDB_NAMESPACE: the namespace of all these declarations.
#pragma once

#ifndef ROCKSDB_NAMESPACE
#define ROCKSDB_NAMESPACE rocksdb
#endif
