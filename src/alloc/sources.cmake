outlast_sources(outlast_library alloc
)
