outlast_sources(outlast_library domain
  native.cpp
)
