# LevelDB's Env, caches and filters: compiled a second time, with another namespace, by src/compat/CMakeLists.txt.
set(outlast_compat_sources
  leveldb/cache.cpp
  leveldb/env.cpp
  leveldb/filter_policy.cpp
  leveldb/memory_env.cpp
  leveldb/posix_env.cpp
  leveldb/unsupported_tables.cpp
)
outlast_sources(outlast_library compat
  ${outlast_compat_sources}
)
