outlast_sources(outlast_library pool
  check.cpp
  fork_guard.cpp
  format.cpp
  instances.cpp
  machine.cpp
  mapped_file.cpp
  opening.cpp
  parallel.cpp
  twin.cpp
)
