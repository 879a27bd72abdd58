// Opens stores on a disk: writes reach the device through a journal whose batches several writers
// share (domain::logged_file).

#include <outlast/domain/logged_file.hpp>
#include <outlast/pool/pool.hpp>
#include <src/db/btree_engine.hpp>
#include <src/db/open_in_file.hpp>

#include <memory>
#include <utility>

namespace outlast::store_detail {

std::unique_ptr<engine> open_journaled_engine(const store_options& wanted) {
  return open_in_file<domain::logged_file>(wanted);
}

}  // namespace outlast::store_detail
