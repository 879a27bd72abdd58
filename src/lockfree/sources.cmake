outlast_sources(outlast_core lockfree
)
