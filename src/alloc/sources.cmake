outlast_sources(outlast_core alloc
  arena.cpp
)
