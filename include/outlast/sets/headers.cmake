outlast_headers(outlast_library sets
  basic_hash.hpp
  basic_list.hpp
  detail/bucket_directory.hpp
  detail/set_node.hpp
  detail/set_operation.hpp
  detail/set_session.hpp
  detail/superseded_lines.hpp
  detail/verdict.hpp
  detail/volatile_blocks.hpp
  link_free_hash.hpp
  link_free_list.hpp
  schemes.hpp
  soft_hash.hpp
  soft_list.hpp
)
