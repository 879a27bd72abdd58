// leveldb::Comparator.
#pragma once

#include "export.h"
#include "namespace.h"

#include <string>

#include "../../db/comparator.hpp"
