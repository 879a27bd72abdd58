// The buffered queue with one lock for both ends, as published, for comparison. [Wen21, 6.1]
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/epoch/queue.hpp>

namespace outlast::epoch {

/// The buffered queue with one lock for both ends. [Wen21, 6.1]
template <roots::storable Value, domain::persistence_domain D = domain::native>
using one_lock_queue = basic_queue<buffered<D>, Value, queue_locks::one>;

}  // namespace outlast::epoch
