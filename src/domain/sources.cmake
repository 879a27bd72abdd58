outlast_sources(outlast_library domain
  file.cpp
  native.cpp
)
