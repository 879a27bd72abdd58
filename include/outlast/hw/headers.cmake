outlast_headers(outlast_library hw
  double_word.hpp
  flush.hpp
)
