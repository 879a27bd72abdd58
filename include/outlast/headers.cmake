outlast_headers(outlast_library .
  alloc.hpp
  domain.hpp
  durable.hpp
)
