// ROCKSDB_NAMESPACE: the name under which all of this is declared.
#pragma once

#ifndef ROCKSDB_NAMESPACE
#define ROCKSDB_NAMESPACE rocksdb
#endif
