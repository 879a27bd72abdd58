outlast_sources(outlast_core durable
  tag_table.cpp
)
outlast_sources(outlast_library durable
  instances.cpp
)
