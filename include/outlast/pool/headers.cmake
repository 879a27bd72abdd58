outlast_headers(outlast_library pool
  check.hpp
  detail/machine.hpp
  detail/mapped_file.hpp
  detail/opening.hpp
  detail/seams.hpp
  format.hpp
  impl/instances.hpp
  impl/pool_impl.hpp
  impl/region_table.hpp
  impl/root_directory.hpp
  page_line.hpp
  page_space.hpp
  pool.hpp
  pool_options.hpp
  region.hpp
  volatile_word.hpp
)
