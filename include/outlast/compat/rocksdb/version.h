// The release of RocksDB whose interface this is.
#pragma once

#define ROCKSDB_MAJOR 7
#define ROCKSDB_MINOR 8
#define ROCKSDB_PATCH 3
