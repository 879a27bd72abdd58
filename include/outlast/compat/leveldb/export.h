/* LEVELDB_EXPORT, which programs may use in their own declarations. It is empty, because
   src/compat/leveldb.map lists the exported symbols. */
#pragma once

#ifndef LEVELDB_EXPORT
#define LEVELDB_EXPORT
#endif
