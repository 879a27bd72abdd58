# `cpack` (or `make package`) makes four Debian packages: liboutlast0.2, liboutlast-dev, outlast, the tool, and
# outlastd, the server. Their dependencies are what dpkg-shlibdeps finds, and each other.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME outlast)
set(CPACK_PACKAGE_VENDOR "The Outlast authors")
set(CPACK_PACKAGE_CONTACT "The Outlast authors <outlast@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime devel)
if(TARGET outlast)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
if(TARGET outlastd)
  list(APPEND CPACK_COMPONENTS_ALL server)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME liboutlast${outlast_soversion})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
    "Maps, sets, queues, transactions and a store in files that are mapped
into memory, and outlive the process that wrote them. This package has the
shared library.")

set(CPACK_DEBIAN_DEVEL_PACKAGE_NAME liboutlast-dev)
set(CPACK_DEBIAN_DEVEL_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVEL_PACKAGE_DEPENDS
    "liboutlast${outlast_soversion} (= ${PROJECT_VERSION}), libstdc++-12-dev | libstdc++-13-dev")
set(CPACK_DEBIAN_DEVEL_PACKAGE_RECOMMENDS "g++ (>= 4:12) | clang-19")
set(CPACK_COMPONENT_DEVEL_DESCRIPTION
    "Headers, static libraries, and files for CMake and pkg-config: what
programs are built with.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME outlast)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "libleveldb1d, wamerican")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
    "The command line tool: it inspects, checks and copies pools, reads and
writes stores, and measures and verifies the structures of the library.")

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME outlastd)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION database)
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS outlast)
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(scripts ${PROJECT_SOURCE_DIR}/cmake/debian/outlastd)
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm)
set(CPACK_COMPONENT_SERVER_DESCRIPTION
    "The server: a cache or a store on the network that a kill does not empty,
for clients of memcached and Redis. The package contains units of systemd
and starts nothing: systemctl enable --now outlastd.socket does.")
include(CPack)
