// leveldb::Slice.
#pragma once

#include "export.h"
#include "namespace.h"

#include <cassert>
#include <cstddef>
#include <cstring>
#include <string>

#include "../../db/slice.hpp"
