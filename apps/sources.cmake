# Sources of the command line tool, one a line; the list grows by one line per subcommand.
outlast_app_sources(
  ${CMAKE_CURRENT_LIST_DIR}/inspect.cpp
  ${CMAKE_CURRENT_LIST_DIR}/main.cpp
  ${CMAKE_CURRENT_LIST_DIR}/version.cpp
)
