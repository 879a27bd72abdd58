// Where the store's classes are declared. A program has them in outlast::db. The library that
// stands in for LevelDB's compiles the same sources with another name.
#pragma once

#ifndef OUTLAST_DB_NAMESPACE
#define OUTLAST_DB_NAMESPACE outlast::db
#define OUTLAST_DB_DEFAULT_NAMESPACE
#endif
