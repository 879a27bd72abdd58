// The options with which a hash table is created or attached.
#pragma once

#include <cstddef>
#include <cstdint>

namespace outlast::lockfree {

/// Options of a hash table. A table that exists keeps those that it was created with, except
/// `growth_check_interval`.
struct table_options {
  /// Number of buckets at creation, rounded up to a power of two; 1 to 2^40. A table that exists
  /// has its own number. If that number is fixed, attaching with another one than the default
  /// throws error{bad_argument}.
  std::size_t buckets = 16;
  /// If false, the number of buckets never changes. Attaching with false a table that was created
  /// with true throws error{bad_argument}.
  bool grows = true;
  /// A thread checks whether the table must grow once per this number of its own successful
  /// inserts; at least 1. Not stored: an existing table uses the value of the last attach that
  /// found no session in this process.
  std::uint32_t growth_check_interval = 32;
};

}  // namespace outlast::lockfree
