// leveldb::WriteBatch.
#pragma once

#include "export.h"
#include "namespace.h"
#include "status.h"

#include <string>

#include "../../db/write_batch.hpp"
