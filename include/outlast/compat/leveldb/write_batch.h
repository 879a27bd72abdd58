// leveldb::WriteBatch.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>
#include <outlast/compat/leveldb/status.h>

#include <string>

#include <outlast/db/write_batch.hpp>
