outlast_sources(outlast_core base
  anonymous_memory.cpp
  error.cpp
  fork_locks.cpp
  large_pages.cpp
  per_thread.cpp
  thread_context.cpp
)
