outlast_sources(outlast_core pool
  backup/backup.cpp
  backup/pool_cut.cpp
  backup/write_faults.cpp
  check.cpp
  file/dax_device.cpp
  file/file_calls.cpp
  file/file_identity.cpp
  file/fork_guard.cpp
  file/machine.cpp
  file/mapped_file.cpp
  file/page_cache.cpp
  file/shadow_copy.cpp
  format.cpp
  instances.cpp
  journal/found_log.cpp
  journal/log_files.cpp
  journal/log_format.cpp
  journal/log_reader.cpp
  journal/redo_log.cpp
  new_pool.cpp
  opening.cpp
  tables.cpp
  upgrade.cpp
)
outlast_sources(outlast_library pool
  other_instances.cpp
)
