// leveldb::Options, ReadOptions and WriteOptions.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>

#include <cstddef>

#include <outlast/db/options.hpp>
