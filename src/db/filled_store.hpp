// Creates and fills a new store, with more capacity if the same keys need more space in it.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>

#include <memory>

namespace outlast::store_detail {

/// Creates a store with make(wanted), fills it with fill(store), and closes it. If the store
/// becomes full before its file system does, begins again with a larger capacity, because the same
/// keys can need more pages if they arrive in another order. If it throws, remove() has removed the
/// files.
template <class Make, class Fill, class Remove>
void fill_new_store(store_options wanted, Make&& make, Fill&& fill, Remove&& remove) {
  const std::size_t max_capacity =
      4 * wanted.capacity_bytes;  // every page is at least a quarter full
  for (;; wanted.capacity_bytes += wanted.capacity_bytes / 4) {
    std::unique_ptr<engine> to;
    bool is_filled = false;
    try {
      to = make(wanted);
      fill(*to);
      is_filled = true;
      to->close();
      return;
    } catch (const out_of_space&) {
      const bool is_full =
          to != nullptr && !is_filled && to->data_bytes() >= wanted.capacity_bytes / 2;
      to.reset();
      remove();
      if (!is_full || wanted.capacity_bytes > max_capacity) throw;
    } catch (...) {
      to.reset();
      remove();
      throw;
    }
  }
}

}  // namespace outlast::store_detail
