// leveldb::DB.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/iterator.h>
#include <outlast/compat/leveldb/namespace.h>
#include <outlast/compat/leveldb/options.h>

#include <cstdint>
#include <cstdio>

#include <outlast/db/db.hpp>
