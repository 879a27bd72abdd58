// A new store that gets all that another one holds, whatever room that takes in it.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>

#include <memory>

namespace outlast::store_detail {

/// Makes a store by make(wanted), fills it by fill(store), and closes it. Where the store is full
/// before its file system is, begins again with one that can hold more: the same keys take more
/// pages if they come in another order. What throws leaves nothing: `remove()` removes the files.
template <class Make, class Fill, class Remove>
void fill_new_store(store_options wanted, Make&& make, Fill&& fill, Remove&& remove) {
  const std::size_t most = 4 * wanted.capacity_bytes;  // no page is less than a quarter full
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
      if (!is_full || wanted.capacity_bytes > most) throw;
    } catch (...) {
      to.reset();
      remove();
      throw;
    }
  }
}

}  // namespace outlast::store_detail
