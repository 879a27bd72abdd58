outlast_headers(outlast_library alloc
  arena.hpp
  impl/arena.hpp
  impl/arena_recovery.hpp
  size_classes.hpp
  span.hpp
  thread_cache.hpp
)
