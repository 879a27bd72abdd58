outlast_headers(outlast_library reclaim
  concept.hpp
  epochs.hpp
  hazards.hpp
  leak.hpp
)
