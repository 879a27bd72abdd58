outlast_sources(outlast_verify verify
  bank_oracle.cpp
  buffered_oracle.cpp
  counterexample.cpp
  explorer.cpp
  fiber.cpp
  freed_blocks.cpp
  graph_oracle.cpp
  history.cpp
  instances.cpp
  lossy_disk.cpp
  lossy_file.cpp
  machine.cpp
  memory.cpp
  moving_subject.cpp
  mutants.cpp
  oracle.cpp
  prefix_search.cpp
  program_sites.cpp
  queue_check.cpp
  redundancies.cpp
  replay.cpp
  replicas_at_risk.cpp
  report.cpp
  stack_check.cpp
  store_oracle.cpp
  store_buffers.cpp
  strategy.cpp
  transaction_oracle.cpp
  twins.cpp
)

# Everything that can be explored. Not for ThreadSanitizer: what takes turns teaches it nothing.
if(NOT OUTLAST_SANITIZE STREQUAL "thread")
  outlast_sources(outlast_verify verify
    catalogue.cpp
    catalogue_epoch.cpp
    catalogue_link_free.cpp
    catalogue_lists.cpp
    catalogue_mirror.cpp
    catalogue_regions.cpp
    catalogue_roots.cpp
    catalogue_scanned.cpp
    catalogue_sequences.cpp
    catalogue_several.cpp
    catalogue_skiplists.cpp
    catalogue_soft.cpp
    catalogue_store.cpp
    catalogue_tables.cpp
    catalogue_transactions.cpp
    catalogue_trees.cpp
  )
endif()

# The policies that the tests do not explore: minutes of compilation.
if(OUTLAST_WHOLE_CATALOGUE)
  outlast_sources(outlast_verify verify
    catalogue_lists_other.cpp
    catalogue_mirror_other.cpp
    catalogue_sequences_other.cpp
    catalogue_skiplists_other.cpp
    catalogue_tables_other.cpp
    catalogue_trees_other.cpp
  )
endif()
set_source_files_properties(
  ${PROJECT_SOURCE_DIR}/src/verify/catalogue.cpp
  TARGET_DIRECTORY outlast_verify
  PROPERTIES COMPILE_DEFINITIONS OUTLAST_WHOLE_CATALOGUE=$<BOOL:${OUTLAST_WHOLE_CATALOGUE}>)
