outlast_headers(outlast_library hw
  flush.hpp
)
