// leveldb::NewMemEnv.
#pragma once

#include "../export.h"
#include "../namespace.h"

#include "../../../db/memenv.hpp"
