// Goal: the headers for programs of RocksDB are found by their own folder alone. Method: this file
// is compiled with no other folder of ours.
#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/status.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

rocksdb::DB* nowhere() { return nullptr; }
