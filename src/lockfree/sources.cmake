outlast_sources(outlast_library lockfree
)
