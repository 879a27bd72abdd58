# The classes with LevelDB's names: compiled a second time, with another namespace, by src/compat/CMakeLists.txt.
set(outlast_db_sources
  checkpoint.cpp
  comparator.cpp
  db_impl.cpp
  exception_status.cpp
  iterator.cpp
  open.cpp
  status.cpp
  transaction.cpp
  write_batch.cpp
)
outlast_sources(outlast_library db
  ${outlast_db_sources}
  checksum.cpp
  convert.cpp
  copy.cpp
  file_image.cpp
  journaled_engine.cpp
  kept_files.cpp
  mapped_engine.cpp
  media.cpp
  records/hash.cpp
  records/index_file.cpp
  repair.cpp
  store_files.cpp
  synced_engine.cpp
)
