// leveldb::DB.
#pragma once

#include "export.h"
#include "iterator.h"
#include "namespace.h"
#include "options.h"

#include <cstdint>
#include <cstdio>

#include "../../db/db.hpp"
