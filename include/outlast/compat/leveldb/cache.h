// leveldb::Cache.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>
#include <outlast/compat/leveldb/slice.h>

#include <cstdint>

#include <outlast/db/cache.hpp>
