outlast_sources(outlast_library tx
  commit_records.cpp
  heap.cpp
)
