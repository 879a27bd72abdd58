outlast_headers(outlast_library compat
  rocksdb/comparator.h
  rocksdb/db.h
  rocksdb/iterator.h
  rocksdb/options.h
  rocksdb/slice.h
  rocksdb/snapshot.h
  rocksdb/status.h
  rocksdb/utilities/checkpoint.h
  rocksdb/write_batch.h
)
if(NOT TARGET outlast_leveldb)
  return()
endif()
outlast_headers(outlast_leveldb compat
  leveldb/c.h
  leveldb/cache.h
  leveldb/comparator.h
  leveldb/db.h
  leveldb/dumpfile.h
  leveldb/env.h
  leveldb/export.h
  leveldb/filter_policy.h
  leveldb/helpers/memenv.h
  leveldb/iterator.h
  leveldb/namespace.h
  leveldb/options.h
  leveldb/slice.h
  leveldb/status.h
  leveldb/table.h
  leveldb/table_builder.h
  leveldb/write_batch.h
)
