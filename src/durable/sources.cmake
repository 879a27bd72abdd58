outlast_sources(outlast_library durable
  tag_table.cpp
)
