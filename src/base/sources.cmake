outlast_sources(outlast_library base
  error.cpp
  per_thread.cpp
  thread_context.cpp
)
