outlast_headers(outlast_library durable
  cell.hpp
  cell_group.hpp
  detail/atomic_interface.hpp
  detail/owned_word.hpp
  detail/tagged_word.hpp
  detail/word.hpp
  field.hpp
  flagged.hpp
  operation.hpp
  policy.hpp
  root_session.hpp
  roles.hpp
  tag_table.hpp
  tags.hpp
)
