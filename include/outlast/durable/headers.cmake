outlast_headers(outlast_library durable
)
