// leveldb::Iterator.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>
#include <outlast/compat/leveldb/slice.h>
#include <outlast/compat/leveldb/status.h>

#include <outlast/db/iterator.hpp>
