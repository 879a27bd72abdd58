outlast_headers(outlast_library pool
)
