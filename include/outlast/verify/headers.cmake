outlast_headers(outlast_verify verify
)
