// Opens stores on persistent memory or a file system in memory, stores in ordinary memory, and
// images of stores for reading.

#include <outlast/base/anonymous_memory.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/pool/pool.hpp>
#include <src/db/btree_engine.hpp>
#include <src/db/open_in_file.hpp>

#include <memory>
#include <string>
#include <utility>

namespace outlast::store_detail {

namespace {

using native_pool = basic_pool<domain::native>;

/// Adds the name of the file to an error about a pool in memory, which has no name.
[[noreturn]] void refuse_named(const error& refused, const std::string& file) {
  std::string sentence = refused.what();
  const std::string kind = ": " + refused.code().message();
  if (sentence.ends_with(kind)) sentence.resize(sentence.size() - kind.size());
  throw error(refused.reason(), file, sentence);
}

}  // namespace

std::unique_ptr<engine> open_image(const store_options& wanted, std::unique_ptr<read_image> image) {
  pool_options options;
  options.salvage = wanted.salvage;
  try {
    std::shared_ptr<native_pool> pool =
        native_pool::in_memory(image->memory.data(), image->memory.bytes(), false, options);
    const bool is_copy = image->on == medium::disk;
    return make_engine<domain::native>(std::move(pool), wanted, is_copy, std::move(image));
  } catch (const error& refused) {
    if (!refused.path().empty()) throw;
    refuse_named(refused, wanted.file);
  }
}

std::unique_ptr<engine> open_mapped_engine(const store_options& wanted) {
  return open_in_file<domain::native>(wanted);
}

std::unique_ptr<engine> open_memory_store(const store_options& wanted, memory_file& file) {
  const std::size_t bytes = pool_bytes_for(wanted);
  const bool is_fresh = file.bytes == 0;
  if (is_fresh) {
    file.memory = base::anonymous_memory(bytes);
    file.bytes = bytes;
  }
  try {
    pool_options in_memory;
    in_memory.memory_holds_zeros = is_fresh;
    auto pool = native_pool::in_memory(file.memory.data(), file.bytes, is_fresh, in_memory);
    return make_engine<domain::native>(std::move(pool), wanted, true);
  } catch (...) {
    if (is_fresh) file.bytes = 0;
    throw;
  }
}

}  // namespace outlast::store_detail
