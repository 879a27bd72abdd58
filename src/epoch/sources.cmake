outlast_sources(outlast_core epoch
)
