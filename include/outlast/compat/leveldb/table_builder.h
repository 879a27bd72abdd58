// leveldb::TableBuilder, which returns NotSupported.
#pragma once

#include "export.h"
#include "namespace.h"
#include "options.h"
#include "status.h"

#include <cstdint>

#include "../../db/table_builder.hpp"
