# Sources of the programs, one a line: outlast_app(<program> SOURCES <file>... [ALONE <file>...] LIBRARIES <target>...).

outlast_app(outlast
  SOURCES
    backup.cpp
    companions.cpp
    db/db.cpp
    db/dump.cpp
    db/import.cpp
    db/leveldb.cpp
    db/meter.cpp
    db/order.cpp
    db/session.cpp
    db/text.cpp
    inspect.cpp
    main.cpp
    stats.cpp
    upgrade.cpp
    version.cpp
  LIBRARIES outlast_library ${CMAKE_DL_LIBS})

# Without the store and transactions: it is the first program that a newcomer builds.
if(OUTLAST_DEMO)
  outlast_app(outlast-demo
    SOURCES
      demo/child_process.cpp
      demo/corpus.cpp
      demo/main.cpp
      demo/report.cpp
      demo/subject.cpp
      demo/supervisor.cpp
    ALONE
      demo/instances.cpp
      demo/measurement.cpp
      demo/policies/flit_adjacent.cpp
      demo/policies/flit_adjacent_adr.cpp
      demo/policies/flit_always.cpp
      demo/policies/flit_hashed.cpp
      demo/policies/flit_line.cpp
      demo/reference.cpp
    LIBRARIES outlast_core)
endif()

if(OUTLAST_SERVER_PROGRAM)
  outlast_app(outlastd
    SOURCES
      server/backups.cpp
      server/log.cpp
      server/main.cpp
      server/password_file.cpp
      server/reply_releaser.cpp
      server/sockets.cpp
      server/tls_context.cpp
    ALONE
      server/cache_space.cpp
      server/connection.cpp
      server/daemon.cpp
      server/service.cpp
      server/store_space.cpp
    LIBRARIES outlast_server)
endif()

if(OUTLAST_VERIFIER)
  outlast_app(outlast-verify
    SOURCES
      verify/main.cpp
    LIBRARIES outlast_catalogue)
endif()
