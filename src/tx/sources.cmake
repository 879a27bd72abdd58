outlast_sources(outlast_library tx
  heap.cpp
  transition_records.cpp
)
