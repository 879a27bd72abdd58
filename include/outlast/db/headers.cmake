outlast_headers(outlast_library db
  comparator.hpp
  db.hpp
  iterator.hpp
  namespace.hpp
  options.hpp
  slice.hpp
  status.hpp
  write_batch.hpp
)
