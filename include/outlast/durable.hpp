// Durable atomics for lock-free code of your own: docs/guides/your-own-atomics.md.
#pragma once

#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
