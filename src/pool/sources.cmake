outlast_sources(outlast_library pool
)
