# Micro benchmarks, one a line.
target_sources(
  outlast-bench
  PRIVATE ${CMAKE_CURRENT_LIST_DIR}/flush_costs.cpp
          ${CMAKE_CURRENT_LIST_DIR}/micro.cpp)
