// leveldb::Env.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>
#include <outlast/compat/leveldb/status.h>

#include <cstdarg>
#include <cstdint>
#include <string>
#include <vector>

#include <outlast/db/env.hpp>
