# Micro benchmarks, one a line.
target_sources(
  outlast-bench
  PRIVATE ${CMAKE_CURRENT_LIST_DIR}/allocator.cpp
          ${CMAKE_CURRENT_LIST_DIR}/backup.cpp
          ${CMAKE_CURRENT_LIST_DIR}/epoch_applications.cpp
          ${CMAKE_CURRENT_LIST_DIR}/epoch_media.cpp
          ${CMAKE_CURRENT_LIST_DIR}/epochs.cpp
          ${CMAKE_CURRENT_LIST_DIR}/flush_costs.cpp
          ${CMAKE_CURRENT_LIST_DIR}/growth.cpp
          ${CMAKE_CURRENT_LIST_DIR}/interleaved.cpp
          ${CMAKE_CURRENT_LIST_DIR}/memory.cpp
          ${CMAKE_CURRENT_LIST_DIR}/micro.cpp
          ${CMAKE_CURRENT_LIST_DIR}/pool_files.cpp
          ${CMAKE_CURRENT_LIST_DIR}/readers.cpp
          ${CMAKE_CURRENT_LIST_DIR}/recovery.cpp
          ${CMAKE_CURRENT_LIST_DIR}/sets.cpp
          ${CMAKE_CURRENT_LIST_DIR}/store.cpp
          ${CMAKE_CURRENT_LIST_DIR}/store_counts.cpp
          ${CMAKE_CURRENT_LIST_DIR}/store_runs.cpp
          ${CMAKE_CURRENT_LIST_DIR}/transactions.cpp
          ${CMAKE_CURRENT_LIST_DIR}/tx_memory.cpp)

# jemalloc wants thread-local storage that dlopen() cannot give, so it is linked; behind the C and C++
# libraries, so that it is loaded and neither its malloc nor its operator new is used by accident.
find_library(OUTLAST_JEMALLOC NAMES jemalloc libjemalloc.so.2)
if(OUTLAST_JEMALLOC AND NOT OUTLAST_SANITIZE)
  target_link_libraries(outlast-bench PRIVATE -Wl,--push-state,--no-as-needed stdc++ -l:libc.so.6
                                              ${OUTLAST_JEMALLOC} -Wl,--pop-state)
endif()
