outlast_headers(outlast_library lockfree
  detail/external_tree_recovery.hpp
  detail/hash_table_session.hpp
  detail/outside_reading.hpp
  detail/recovery.hpp
  detail/sequence_session.hpp
  harris_list.hpp
  hash_table.hpp
  michael_scott_queue.hpp
  natarajan_tree.hpp
  reader.hpp
  skiplist.hpp
  stack.hpp
  table_options.hpp
)
