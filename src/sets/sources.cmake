outlast_sources(outlast_core sets
)
