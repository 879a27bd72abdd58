outlast_sources(outlast_core pool
  check.cpp
  dax_device.cpp
  file_calls.cpp
  file_identity.cpp
  fork_guard.cpp
  format.cpp
  found_log.cpp
  instances.cpp
  log_files.cpp
  log_format.cpp
  log_reader.cpp
  machine.cpp
  mapped_file.cpp
  opening.cpp
  page_cache.cpp
  redo_log.cpp
  twin.cpp
)
outlast_sources(outlast_library pool
  other_instances.cpp
)
