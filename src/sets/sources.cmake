outlast_sources(outlast_library sets
)
