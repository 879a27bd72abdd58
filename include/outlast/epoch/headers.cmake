outlast_headers(outlast_library epoch
  buffered_stack.hpp
  cache.hpp
  clock.hpp
  detail/bucket_table.hpp
  detail/clock_record.hpp
  detail/numbered_payloads.hpp
  detail/spin_lock.hpp
  detail/stored_pair.hpp
  graph.hpp
  hash_map.hpp
  operation.hpp
  options.hpp
  payload.hpp
  payload_session.hpp
  policies.hpp
  queue.hpp
)
