outlast_headers(outlast_library .
  domain.hpp
  durable.hpp
)
