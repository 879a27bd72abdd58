outlast_headers(outlast_library sets
  detail/bucket_directory.hpp
  detail/link_free_node.hpp
  detail/link_free_operation.hpp
  detail/link_free_session.hpp
  detail/superseded_lines.hpp
  detail/verdict.hpp
  link_free.hpp
  link_free_hash.hpp
  link_free_list.hpp
)
