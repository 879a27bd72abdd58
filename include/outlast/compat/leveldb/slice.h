// leveldb::Slice.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>

#include <cassert>
#include <cstddef>
#include <cstring>
#include <string>

#include <outlast/db/slice.hpp>
