outlast_sources(outlast_library domain
  file.cpp
  logged_file.cpp
  native.cpp
  notes.cpp
)
