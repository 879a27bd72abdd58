outlast_sources(outlast_verify verify
)
