outlast_sources(outlast_library containers
)
