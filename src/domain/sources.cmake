outlast_sources(outlast_core domain
  file.cpp
  logged_file.cpp
  native.cpp
  notes.cpp
)
