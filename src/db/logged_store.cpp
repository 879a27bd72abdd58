// Stores on a device that has to be synced with: through a log, whose batches several writers
// share.

#include <outlast/domain/logged_file.hpp>
#include <outlast/pool/pool.hpp>
#include <src/db/tree_store.hpp>

#include <memory>
#include <utility>

namespace outlast::store_detail {

std::unique_ptr<store> open_logged_store(const store_options& wanted) {
  return open_in_file<domain::logged_file>(wanted);
}

}  // namespace outlast::store_detail
