// The namespace leveldb, in which programs written for LevelDB find the store's classes.
#pragma once

#ifdef OUTLAST_DB_DEFAULT_NAMESPACE
#error \
    "outlast/db and leveldb/ are the same classes in two namespaces: a source includes one of them"
#endif
#ifndef OUTLAST_DB_NAMESPACE
#define OUTLAST_DB_NAMESPACE leveldb
#endif
