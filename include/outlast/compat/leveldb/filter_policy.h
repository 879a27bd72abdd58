// leveldb::FilterPolicy.
#pragma once

#include <outlast/compat/leveldb/export.h>
#include <outlast/compat/leveldb/namespace.h>

#include <string>

#include <outlast/db/filter_policy.hpp>
