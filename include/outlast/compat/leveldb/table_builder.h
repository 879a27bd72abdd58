// leveldb::TableBuilder, which is refused.
#pragma once

#include "export.h"
#include "namespace.h"
#include "options.h"
#include "status.h"

#include <cstdint>

#include "../../db/table_builder.hpp"
