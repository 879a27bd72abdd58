// leveldb::Status.
#pragma once

#include "export.h"
#include "namespace.h"
#include "slice.h"

#include <algorithm>
#include <string>

#include "../../db/status.hpp"
