outlast_sources(outlast_library reclaim
  instances.cpp
)
