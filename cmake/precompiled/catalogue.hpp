// What the catalogue's sources include and what is slow to parse: their precompiled header.
#pragma once

#include <outlast/durable.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <tests/catalogue/catalogue.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/explorer/moving_subject.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
