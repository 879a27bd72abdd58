# `outlast bench` in the command line tool: it starts outlast-bench, which bench/CMakeLists.txt builds.
outlast_app_sources(
  ${PROJECT_SOURCE_DIR}/apps/bench.cpp
)
