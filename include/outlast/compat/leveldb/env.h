// leveldb::Env.
#pragma once

#include "export.h"
#include "namespace.h"
#include "status.h"

#include <cstdarg>
#include <cstdint>
#include <string>
#include <vector>

#include "../../db/env.hpp"
