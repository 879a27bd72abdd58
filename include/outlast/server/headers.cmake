outlast_headers(outlast_server server
  cached_items.hpp
  conversation.hpp
  engine.h
  items.hpp
  memcached.hpp
  resp.hpp
  stored_items.hpp
)
