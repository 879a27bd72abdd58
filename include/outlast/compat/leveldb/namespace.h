// Declares the store's classes in the namespace leveldb, for programs that were written for LevelDB.
#pragma once

#ifdef OUTLAST_DB_DEFAULT_NAMESPACE
#error \
    "outlast/db and leveldb/ are the same classes in two namespaces: a source includes one of them"
#endif
#ifndef OUTLAST_DB_NAMESPACE
#define OUTLAST_DB_NAMESPACE leveldb
#endif
