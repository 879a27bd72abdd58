outlast_headers(outlast_library root
  attached.hpp
  map_operations.hpp
  root_session.hpp
  storable.hpp
)
