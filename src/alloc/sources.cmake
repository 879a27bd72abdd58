outlast_sources(outlast_library alloc
  arena.cpp
)
