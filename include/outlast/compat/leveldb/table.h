// leveldb::Table, which is refused.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/iterator.h>
#include <outlast/compat/leveldb/namespace.h>

#include <cstdint>

#include <outlast/db/table.hpp>
