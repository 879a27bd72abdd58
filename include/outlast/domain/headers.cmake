outlast_headers(outlast_library domain
  adr.hpp
  cache_persistent.hpp
  concept.hpp
  counting.hpp
  file.hpp
  file_device.hpp
  hardware_access.hpp
  logged_file.hpp
  native.hpp
  patience.hpp
  persist.hpp
  process.hpp
  slow_ns.hpp
  watched_blocks.hpp
  without_flushes.hpp
)
