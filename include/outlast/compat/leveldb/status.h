// leveldb::Status.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>
#include <outlast/compat/leveldb/slice.h>

#include <algorithm>
#include <string>

#include <outlast/db/status.hpp>
