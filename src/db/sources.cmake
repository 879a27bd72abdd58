outlast_sources(outlast_library db
  comparator.cpp
  env.cpp
  iterator.cpp
  logged_store.cpp
  memory_env.cpp
  native_store.cpp
  posix_env.cpp
  status.cpp
  store.cpp
  write_batch.cpp
)
