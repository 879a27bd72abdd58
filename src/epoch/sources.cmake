outlast_sources(outlast_library epoch
)
