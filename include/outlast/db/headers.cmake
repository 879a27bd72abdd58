outlast_headers(outlast_library db
  comparator.hpp
  iterator.hpp
  namespace.hpp
  slice.hpp
  status.hpp
  write_batch.hpp
)
