outlast_headers(outlast_library lockfree
)
