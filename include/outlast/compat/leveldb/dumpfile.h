// leveldb::DumpFile, which returns NotSupported.
#pragma once

#include "env.h"
#include "export.h"
#include "namespace.h"
#include "status.h"

#include <string>

#include "../../db/dumpfile.hpp"
