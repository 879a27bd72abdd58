# What bears LevelDB's names: compiled a second time, with another namespace, in src/compat.
set(outlast_db_sources
  cache.cpp
  checkpoint.cpp
  comparator.cpp
  env.cpp
  failures.cpp
  filter_policy.cpp
  iterator.cpp
  memory_env.cpp
  open.cpp
  opened_store.cpp
  posix_env.cpp
  refused.cpp
  status.cpp
  transaction.cpp
  write_batch.cpp
)
outlast_sources(outlast_library db
  ${outlast_db_sources}
  copy.cpp
  logged_store.cpp
  native_store.cpp
  rescue.cpp
  store.cpp
  store_files.cpp
)
