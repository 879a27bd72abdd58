outlast_sources(outlast_library db
  comparator.cpp
  iterator.cpp
  status.cpp
  write_batch.cpp
)
