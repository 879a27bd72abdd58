outlast_sources(outlast_verify verify
  buffered_oracle.cpp
  catalogue.cpp
  catalogue_lists.cpp
  catalogue_tables.cpp
  explorer.cpp
  fiber.cpp
  history.cpp
  machine.cpp
  memory.cpp
  mutants.cpp
  oracle.cpp
  prefix_search.cpp
  queue_check.cpp
  report.cpp
  strategy.cpp
  transaction_oracle.cpp
)
