// Stores on a device that has to be synced with: through a log, whose batches several writers
// share.

#include <outlast/domain/logged_file.hpp>
#include <outlast/pool/pool.hpp>
#include <src/db/tree_store.hpp>

#include <memory>
#include <utility>

namespace outlast::store_detail {

std::unique_ptr<store> open_logged_store(const store_options& wanted) {
  using logged_pool = basic_pool<domain::logged_file>;
  const pool_options options = pool_for(wanted);
  auto pool = std::unique_ptr<logged_pool>(
      new logged_pool(wanted.may_create ? logged_pool::open_or_create(wanted.file, options)
                                        : logged_pool::open(wanted.file, options)));
  return std::make_unique<tree_store<domain::logged_file>>(std::move(pool), wanted);
}

}  // namespace outlast::store_detail
