outlast_sources(outlast_verify verify
  catalogue.cpp
  catalogue_lists.cpp
  catalogue_tables.cpp
  counterexample.cpp
  explorer.cpp
  fiber.cpp
  history.cpp
  lossy_disk.cpp
  lossy_file.cpp
  machine.cpp
  memory.cpp
  mutants.cpp
  oracle.cpp
  report.cpp
  store_buffers.cpp
  strategy.cpp
)
