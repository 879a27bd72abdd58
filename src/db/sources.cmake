outlast_sources(outlast_library db
  comparator.cpp
  env.cpp
  failures.cpp
  iterator.cpp
  logged_store.cpp
  memory_env.cpp
  native_store.cpp
  open.cpp
  opened_store.cpp
  posix_env.cpp
  rescue.cpp
  status.cpp
  store.cpp
  write_batch.cpp
)
