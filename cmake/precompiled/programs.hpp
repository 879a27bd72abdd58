// What the benchmarks include, and what is dear to read: their precompiled header.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <outlast/alloc.hpp>
#include <outlast/domain.hpp>
#include <outlast/durable.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <outlast/pool/pool.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
