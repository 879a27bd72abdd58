// Bodies of basic_pool: backups while the pool is in use.
#pragma once

#include <outlast/pool/detail/backup.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/pool.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace outlast {

template <domain::persistence_domain D>
pool_detail::backup_source basic_pool<D>::source_of_backup() const {
  auto lock = usable_alone();
  if (log_) {
    throw error(errc::refused, path_,
                "a pool with a log cannot be backed up while it is open, because its file and its "
                "log are of different moments; close the pool and copy it with 'outlast backup', "
                "or use Checkpoint() if it is a store");
  }
  auto without_growth = std::make_shared<std::unique_lock<domain::spin_lock<D>>>(growing_);
  const std::uint64_t bytes = std::uint64_t{page_count()} * pool_format::page_bytes;
  return {path_, file_.get(), base_, bytes, std::move(lock), std::move(without_growth)};
}

template <domain::persistence_domain D>
backup_result basic_pool<D>::backup(const std::string& path) const {
  return pool_detail::back_up_to_file(source_of_backup(), path);
}

template <domain::persistence_domain D>
backup_result basic_pool<D>::backup(
    const std::function<void(const std::byte*, std::size_t)>& write) const {
  return pool_detail::back_up_to_stream(source_of_backup(), write);
}

}  // namespace outlast
