outlast_sources(outlast_library hw
  flush.cpp
)
