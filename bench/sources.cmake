# Sources of `outlast bench`, one a line. They are compiled into the command line tool.
outlast_app_sources(
)
