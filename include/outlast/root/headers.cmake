outlast_headers(outlast_library root
  root_session.hpp
  storable.hpp
)
