// leveldb::NewMemEnv.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>

#include <outlast/db/memenv.hpp>
