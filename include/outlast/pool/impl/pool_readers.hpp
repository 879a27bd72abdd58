// Bodies of basic_pool: readers in other processes.
#pragma once

#include <outlast/pool/pool.hpp>
#include <outlast/pool/readers/reader_file.hpp>
#include <outlast/pool/readers/reader_gate.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace outlast {

/// Begins an opening for readers in other processes, before anything in the pool changes. If the
/// options permit none, those of an earlier opening are refused from now on.
template <domain::persistence_domain D>
void basic_pool<D>::start_readers() {
  const bool wanted = options_.max_readers != 0;
  if (!grows_tables()) {
    if (!wanted) return;
    throw error(errc::refused, path_,
                "a pool of format version 1 cannot have readers in other processes; run 'outlast "
                "upgrade', or create it with pool_options::format_version 2");
  }
  std::unique_ptr<pool_detail::reader_place> place;
  if (wanted && (domain::notes_pages<D> || domain::logs_lines<D>)) {
    throw error(errc::refused, path_,
                "the domain '" + std::string(D::name()) +
                    "' makes data durable by syncs with a device, which readers in other processes "
                    "cannot make; use outlast::pool, or leave pool_options::max_readers out");
  }
  if (file_) {
    auto shared =
        wanted ? pool_detail::reader_file::of_writer(*file_, fixed_.uuid, options_.max_readers)
               : pool_detail::reader_file::of_earlier_writer(*file_, fixed_.uuid);
    if (!shared) return;
    place = std::move(shared);
  } else if (wanted) {
    place = std::make_unique<pool_detail::readers_in_memory>(options_.max_readers);
  } else {
    return;
  }
  pool_detail::reader_page& page = place->page();
  auto* const shared = dynamic_cast<pool_detail::reader_file*>(place.get());
  auto gate = std::make_unique<pool_impl::reader_gate<D>>(
      std::move(place), std::chrono::milliseconds(options_.reader_patience_ms));
  if (!wanted) {
    gate->refuse();
    // Without a gate no transaction manager of this process would leave them alone.
    if (gate->await_all_replicas()) return;
    throw error(errc::refused, path_,
                "a reader in another process has read a replica of transactions for longer than " +
                    std::to_string(options_.reader_patience_ms) +
                    " ms (pool_options::reader_patience_ms); end that process, or open the pool "
                    "with pool_options::max_readers");
  }
  if (shared != nullptr) shared->describe(file_->descriptor());
  page.domain_kind.store(static_cast<std::uint64_t>(instructions_), std::memory_order_relaxed);
  page.space_bytes.store(address_space_bytes(), std::memory_order_relaxed);
  page.base_address.store(base(), std::memory_order_relaxed);
  gate->has_grown(std::uint64_t{page_count()} * pool_format::page_bytes);
  readers_ = std::move(gate);
}

template <domain::persistence_domain D>
void basic_pool<D>::root_readable(std::uint32_t index) {
  require_usable();
  if (readers_) readers_->root_is_readable(index);
}

template <domain::persistence_domain D>
base::outside_readers* basic_pool<D>::outside_readers() const noexcept {
  return readers_.get();
}

}  // namespace outlast
