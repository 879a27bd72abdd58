outlast_sources(outlast_library durable
)
