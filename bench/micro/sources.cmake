# Micro benchmarks, one a line.
target_sources(
  outlast-bench
  PRIVATE ${CMAKE_CURRENT_LIST_DIR}/allocator.cpp
          ${CMAKE_CURRENT_LIST_DIR}/epoch_applications.cpp
          ${CMAKE_CURRENT_LIST_DIR}/epoch_media.cpp
          ${CMAKE_CURRENT_LIST_DIR}/epochs.cpp
          ${CMAKE_CURRENT_LIST_DIR}/flush_costs.cpp
          ${CMAKE_CURRENT_LIST_DIR}/interleaved.cpp
          ${CMAKE_CURRENT_LIST_DIR}/memory.cpp
          ${CMAKE_CURRENT_LIST_DIR}/micro.cpp
          ${CMAKE_CURRENT_LIST_DIR}/recovery.cpp
          ${CMAKE_CURRENT_LIST_DIR}/sets.cpp)

# Stores on a disk, beside which epochs on a disk are measured.
target_sources(outlast-bench PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../peers/stores.cpp)
foreach(store IN ITEMS leveldb rocksdb)
  string(TOUPPER ${store} name)
  find_library(OUTLAST_${name} ${store})
  find_path(OUTLAST_${name}_HEADER ${store}/db.h)
  mark_as_advanced(OUTLAST_${name} OUTLAST_${name}_HEADER)
  if(OUTLAST_${name} AND OUTLAST_${name}_HEADER AND OUTLAST_BENCH_ALL)
    target_compile_definitions(outlast-bench PRIVATE OUTLAST_BENCH_${name}=1)
    target_link_libraries(outlast-bench PRIVATE ${OUTLAST_${name}})
  else()
    target_compile_definitions(outlast-bench PRIVATE OUTLAST_BENCH_${name}=0)
  endif()
endforeach()

# jemalloc wants thread-local storage that dlopen() cannot give, so it is linked; behind the C and C++
# libraries, so that it is loaded and neither its malloc nor its operator new is used by accident.
find_library(OUTLAST_JEMALLOC NAMES jemalloc libjemalloc.so.2)
if(OUTLAST_JEMALLOC AND NOT OUTLAST_SANITIZE)
  target_link_libraries(outlast-bench PRIVATE -Wl,--push-state,--no-as-needed stdc++ -l:libc.so.6
                                              ${OUTLAST_JEMALLOC} -Wl,--pop-state)
endif()
