// leveldb::TableBuilder, which is refused.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>
#include <outlast/compat/leveldb/options.h>
#include <outlast/compat/leveldb/status.h>

#include <cstdint>

#include <outlast/db/table_builder.hpp>
