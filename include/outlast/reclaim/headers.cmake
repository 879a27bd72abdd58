outlast_headers(outlast_library reclaim
  concept.hpp
  epochs.hpp
  leak.hpp
)
