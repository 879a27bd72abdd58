// Bodies of basic_pool: backups while the pool is in use.
#pragma once

#include <outlast/pool/detail/backup.hpp>
#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace outlast {

template <domain::persistence_domain D>
pool_detail::backup_source basic_pool<D>::source_of_backup() const {
  require_usable();
  // Before the locks: this takes long if the log is long.
  std::chrono::nanoseconds stop{0};
  if (log_) stop = log_->write_back_early();
  auto lock = usable_alone();
  auto without_growth = std::make_shared<std::unique_lock<domain::spin_lock<D>>>(growing_);
  const std::uint64_t bytes = std::uint64_t{page_count()} * pool_format::page_bytes;
  return {path_,      file_.get(), base_, bytes, std::move(lock), std::move(without_growth),
          log_.get(), stop};
}

template <domain::persistence_domain D>
backup_result basic_pool<D>::backup(
    const std::string& path,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) const {
  return pool_detail::back_up_to_file(source_of_backup(), path, progress);
}

template <domain::persistence_domain D>
backup_result basic_pool<D>::backup(
    const std::function<void(const std::byte*, std::size_t)>& write) const {
  return pool_detail::back_up_to_stream(source_of_backup(), write);
}

}  // namespace outlast
