// All domains that run on hardware.
#pragma once

#include <outlast/domain/adr.hpp>
#include <outlast/domain/cache_persistent.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/counting.hpp>
#include <outlast/domain/file.hpp>
#include <outlast/domain/logged_file.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/domain/slow_ns.hpp>
#include <outlast/domain/without_flushes.hpp>
