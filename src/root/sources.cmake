outlast_sources(outlast_library root
  instances.cpp
)
