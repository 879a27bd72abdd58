// Door 1: make lock-free code of your own durable.
#pragma once

#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
