outlast_sources(outlast_core reclaim
  instances.cpp
)
