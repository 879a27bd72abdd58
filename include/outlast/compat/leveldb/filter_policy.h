// leveldb::FilterPolicy.
#pragma once

#include "export.h"
#include "namespace.h"

#include <string>

#include "../../db/filter_policy.hpp"
