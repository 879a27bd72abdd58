// Moves a store to another engine: builds a new store beside the old one, and replaces it.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>
#include <src/db/store_files.hpp>

#include <cstdint>
#include <memory>
#include <string>

#include <unistd.h>

namespace outlast::store_detail {

std::uint64_t convert_store(const store_options& wanted, medium on, const std::string& aside,
                            const progress_callback& progress) {
  settle_store(wanted.file, {aside});
  std::uint64_t keys = 0;
  try {
    store_options old = wanted;
    old.kind = engine_kind::automatic;
    old.may_create = false;
    old.asks_for_capacity = false;
    old.replicas = store_options().replicas;
    const std::unique_ptr<engine> from = open_to_read(old, on);
    store_options made = from->shape();
    if (made.kind == wanted.kind) return from->keys();
    made.kind = wanted.kind;
    made.file = aside;
    made.may_create = true;
    made.asks_for_capacity = wanted.asks_for_capacity;
    made.capacity_bytes = wanted.capacity_bytes;
    made.replicas = wanted.replicas;
    keys = copy_store(
        *from, made, [on](const store_options& each) { return open_store(each, on); },
        [&] { remove_store_files(aside); }, progress);
  } catch (...) {
    settle_store(wanted.file, {aside});
    throw;
  }
  remove_store_files(replace_and_keep(wanted.file, aside));
  static_cast<void>(::rmdir(kept_files_of(wanted.file).c_str()));  // repairs may have kept files
  return keys;
}

}  // namespace outlast::store_detail
