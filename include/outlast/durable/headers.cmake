outlast_headers(outlast_library durable
  cell.hpp
  detail/word.hpp
  field.hpp
  operation.hpp
  policy.hpp
  root_session.hpp
  roles.hpp
  tag_table.hpp
  tags.hpp
)
