// leveldb::DumpFile, which is refused.
#pragma once

#include <outlast/compat/leveldb/env.h>
#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>
#include <outlast/compat/leveldb/status.h>

#include <string>

#include <outlast/db/dumpfile.hpp>
