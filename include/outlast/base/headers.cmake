outlast_headers(outlast_library base
  announce.hpp
  anonymous_memory.hpp
  cache_line.hpp
  callers.hpp
  error.hpp
  fork_locks.hpp
  hash.hpp
  intervals.hpp
  keyed_hash.hpp
  large_pages.hpp
  marked_ptr.hpp
  per_thread.hpp
  raw_atomic.hpp
  sharded_count.hpp
  thread_context.hpp
  word_pair.hpp
)
