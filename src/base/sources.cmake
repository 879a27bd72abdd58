outlast_sources(outlast_core base
  anonymous_memory.cpp
  error.cpp
  fork_locks.cpp
  keyed_hash.cpp
  large_pages.cpp
  parallel.cpp
  per_thread.cpp
  thread_context.cpp
)
