// leveldb::Iterator.
#pragma once

#include "export.h"
#include "namespace.h"
#include "slice.h"
#include "status.h"

#include "../../db/iterator.hpp"
