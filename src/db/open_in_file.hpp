// Opens or creates the store in a file, with the engine that the store has or is to have.
#pragma once

#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/pool/pool.hpp>
#include <src/db/btree_engine.hpp>
#include <src/db/records/index_file.hpp>
#include <src/db/records/record_engine.hpp>
#include <src/db/store_files.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outlast::store_detail {

[[nodiscard]] inline bool has_records(const root_info& root) {
  return is_store_of_records(root.name, root.type_name);
}
/// Returns true if no store was ever completed in the pool. Then no write was acknowledged.
template <domain::persistence_domain D>
[[nodiscard]] bool is_unused(const basic_pool<D>& pool) {
  for (const root_info& root : pool.roots()) {
    const bool is_begun_store = has_records(root) && root.object_offset == 0;
    if (!is_begun_store) return false;
  }
  for (const region_info& region : pool.regions()) {
    if (!region.name.starts_with("tx:store")) return false;  // the region of another owner
  }
  const auto findings = pool.check();  // no list contains a damaged entry
  return std::none_of(findings.begin(), findings.end(), [](const pool_format::finding& one) {
    return one.level == pool_format::severity::error;
  });
}

/// Returns the engine of the store in the pool, or `automatic` if there is none.
template <domain::persistence_domain D>
[[nodiscard]] engine_kind kind_in(const basic_pool<D>& pool) {
  const std::vector<root_info> roots = pool.roots();
  if (std::any_of(roots.begin(), roots.end(), has_records)) return engine_kind::records;
  return roots.empty() ? engine_kind::automatic : engine_kind::replicas;
}
/// Throws the error for a store with another engine than the program requires.
[[noreturn]] inline void refuse_kind(const store_options& wanted) {
  const bool wants_records = wanted.kind == engine_kind::records;
  throw error(errc::bad_argument, wanted.file,
              std::string("StoreOptions::engine is ") + (wants_records ? "kRecords" : "kReplicas") +
                  ", and the store was created with " + (wants_records ? "kReplicas" : "kRecords") +
                  "; leave the option out, or move the store with `outlast db convert`");
}
/// Throws the error for a file that was replaced while it was opened.
[[noreturn]] inline void refuse_replaced(const store_options& wanted) {
  throw error(errc::refused, wanted.file,
              "the file was replaced by that of another engine while it was opened; try again");
}

/// Returns the place of an index that outlives the process, or nullptr if there is none.
template <domain::persistence_domain D>
[[nodiscard]] std::shared_ptr<records::kept_region> index_of(const basic_pool<D>& pool,
                                                             const store_options& wanted) {
  constexpr std::size_t bytes_for_one_of_index = 6;
  const std::string& path = pool.path();
  if (path.empty()) return nullptr;
  if (!wanted.keeps_index || wanted.new_index) records::index_file::remove_of(path);
  if (!wanted.keeps_index) return nullptr;
  return records::index_file::open(path, pool.uuid(), bytes_of_file(path) / bytes_for_one_of_index);
}

/// Makes the engine of the store in a pool, or of a new one. The other arguments are those of the
/// engines.
template <domain::persistence_domain D>
[[nodiscard]] std::unique_ptr<engine> make_engine(std::shared_ptr<basic_pool<D>> pool,
                                                  const store_options& wanted,
                                                  bool is_volatile = false,
                                                  std::unique_ptr<read_image> image = nullptr) {
  engine_kind kind = kind_in(*pool);
  const bool is_other = wanted.kind != engine_kind::automatic && kind != engine_kind::automatic &&
                        kind != wanted.kind;
  if (is_other) refuse_kind(wanted);
  if (kind == engine_kind::automatic) kind = wanted.kind_of_new();
  if (kind != engine_kind::records) {
    if constexpr (domain::notes_pages<D> && !domain::logs_lines<D>) {
      refuse_replaced(wanted);
    } else {
      return std::make_unique<btree_engine<D>>(std::move(pool), wanted, is_volatile,
                                               std::move(image));
    }
  } else if constexpr (domain::logs_lines<D>) {
    refuse_replaced(wanted);
  } else {
    const bool is_limited = wanted.asks_for_capacity && !is_volatile && image == nullptr;
    if (is_limited && pool->limit_bytes() != wanted.capacity_bytes) {
      pool->set_limit(wanted.capacity_bytes);
    }
    std::shared_ptr<records::kept_region> index;
    if (!is_volatile && image == nullptr) index = index_of(*pool, wanted);
    return std::make_unique<records::record_engine<D>>(std::move(pool), wanted, is_volatile,
                                                       std::move(image), std::move(index));
  }
}

/// Returns true if the store was rejected because of the options, not because of its contents.
[[nodiscard]] inline bool is_sound(const error& refused) noexcept {
  return refused.reason() == errc::bad_argument || refused.reason() == errc::newer_version;
}

/// Opens or creates the store in the file. A creation that fails leaves no file. An interrupted
/// creation has no effect on the next one.
template <domain::persistence_domain D>
std::unique_ptr<engine> open_in_file(const store_options& wanted) {
  using pool_type = basic_pool<D>;
  const pool_options options = pool_for(wanted);
  pool_options as_it_is = options;
  as_it_is.size_bytes = pool_options().size_bytes;
  as_it_is.capacity_bytes = 0;
  if (!wanted.may_create || is_there(wanted.file)) {
    std::shared_ptr<pool_type> pool(new pool_type(pool_type::open(wanted.file, as_it_is)));
    if (!wanted.may_create || !is_unused(*pool)) {
      try {
        return make_engine<D>(pool, wanted);
      } catch (const error& refused) {
        if (is_sound(refused)) pool->close();  // the store was not changed
        throw;
      }
    }
    pool->close();
    pool.reset();
    remove_store_files(wanted.file);
  }
  if (const std::string log = log_of(wanted.file); is_there(log)) {
    throw error(
        errc::already_exists, log,
        "this redo log has no pool '" + wanted.file +
            "'; restore the pool, or remove the log with DestroyDB() to create a new store");
  }
  try {
    std::shared_ptr<pool_type> pool(new pool_type(pool_type::create(wanted.file, options)));
    return make_engine<D>(std::move(pool), wanted);
  } catch (const error& refused) {
    // The existing file belongs to another process, or is a store that the system did not report.
    if (refused.reason() != errc::already_exists) remove_store_files(wanted.file);
    throw;
  } catch (...) {
    remove_store_files(wanted.file);  // neither existed
    throw;
  }
}

}  // namespace outlast::store_detail
