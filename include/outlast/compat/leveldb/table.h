// leveldb::Table, which returns NotSupported.
#pragma once

#include "export.h"
#include "iterator.h"
#include "namespace.h"

#include <cstdint>

#include "../../db/table.hpp"
