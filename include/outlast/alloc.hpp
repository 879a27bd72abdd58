// Recoverable allocation inside a pool.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/alloc/size_classes.hpp>
