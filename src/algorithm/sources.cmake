outlast_sources(outlast_core algorithm
)
