// The namespace of the store's classes: outlast::db for programs. The drop-in library for LevelDB
// compiles the same sources with another namespace.
#pragma once

#ifndef OUTLAST_DB_NAMESPACE
#define OUTLAST_DB_NAMESPACE outlast::db
#define OUTLAST_DB_DEFAULT_NAMESPACE
#endif
