// Stores where a store to a mapping survives, and those in ordinary memory.

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/pool/pool.hpp>
#include <src/db/tree_store.hpp>

#include <memory>
#include <utility>

namespace outlast::store_detail {

namespace {

using native_store = tree_store<domain::native>;
using native_pool = basic_pool<domain::native>;

}  // namespace

std::unique_ptr<store> open_native_store(const store_options& wanted) {
  return open_in_file<domain::native>(wanted);
}

std::unique_ptr<store> open_memory_store(const store_options& wanted, memory_file& file) {
  const pool_options options = pool_for(wanted);
  const bool is_fresh = file.bytes == 0;
  if (is_fresh) {
    file.memory = base::anonymous_memory(options.size_bytes);
    file.bytes = options.size_bytes;
  }
  try {
    auto pool = native_pool::in_memory(file.memory.data(), file.bytes, is_fresh);
    return std::make_unique<native_store>(std::move(pool), wanted, true);
  } catch (...) {
    if (is_fresh) file.bytes = 0;
    throw;
  }
}

}  // namespace outlast::store_detail
