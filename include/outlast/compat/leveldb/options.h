// leveldb::Options, ReadOptions and WriteOptions.
#pragma once

#include "export.h"
#include "namespace.h"

#include <cstddef>

#include "../../db/options.hpp"
