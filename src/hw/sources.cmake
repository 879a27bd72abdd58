outlast_sources(outlast_core hw
  flush.cpp
)
