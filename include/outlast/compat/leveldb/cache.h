// leveldb::Cache.
#pragma once

#include "export.h"
#include "namespace.h"
#include "slice.h"

#include <cstdint>

#include "../../db/cache.hpp"
