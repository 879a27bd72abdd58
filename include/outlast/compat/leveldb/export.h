/* LEVELDB_EXPORT, which programs may have in declarations of their own. Nothing: what the library
   exports is in src/compat/leveldb.map. */
#pragma once

#ifndef LEVELDB_EXPORT
#define LEVELDB_EXPORT
#endif
