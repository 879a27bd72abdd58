// Opens stores of records on a disk: writes go to a mapped file, which is synced for many of them
// together (domain::file).

#include <outlast/domain/file.hpp>
#include <outlast/pool/pool.hpp>
#include <src/db/btree_engine.hpp>
#include <src/db/open_in_file.hpp>

#include <memory>

namespace outlast::store_detail {

std::unique_ptr<engine> open_synced_engine(const store_options& wanted) {
  return open_in_file<domain::file>(wanted);
}

}  // namespace outlast::store_detail
