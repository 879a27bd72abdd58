outlast_headers(outlast_library lockfree
  detail/bucket_index.hpp
  detail/chain.hpp
  detail/external_tree.hpp
  detail/external_tree_recovery.hpp
  detail/hash_table_session.hpp
  detail/height_source.hpp
  detail/recovery.hpp
  detail/skiplist_session.hpp
  detail/tower_index.hpp
  detail/value_slot.hpp
  harris_list.hpp
  hash_table.hpp
  natarajan_tree.hpp
  skiplist.hpp
)
