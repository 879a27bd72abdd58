outlast_sources(outlast_core durable
  instances.cpp
  tag_table.cpp
)
