outlast_sources(outlast_core durable
  tag_table.cpp
)
