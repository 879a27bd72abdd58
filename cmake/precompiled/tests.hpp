// What most tests include, and what is dear to read: the tests' precompiled header.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <outlast/alloc.hpp>
#include <outlast/domain.hpp>
#include <outlast/durable.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/natarajan_tree.hpp>
#include <outlast/lockfree/skiplist.hpp>
#include <outlast/lockfree/stack.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_list.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
