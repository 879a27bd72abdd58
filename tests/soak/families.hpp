// The families of structures: each adds its subjects to those of a pool.
#pragma once

#include <tests/soak/subject.hpp>

#include <outlast/db/db.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/pool.hpp>

#include <string>

namespace outlast::test::soak {

/// How much is done in a wave, by what an operation costs.
struct amounts {
  u64 quick;    ///< operations that wait for no device
  u64 waiting;  ///< operations that do, where there is a device
  u64 tiny;     ///< on what is as slow as it is large
};

template <domain::persistence_domain D>
void add_lockfree(subjects& to, basic_pool<D>& pool, const amounts& how);
template <domain::persistence_domain D>
void add_sets(subjects& to, basic_pool<D>& pool, const amounts& how);
template <domain::persistence_domain D>
void add_buffered(subjects& to, basic_pool<D>& pool, const amounts& how);
template <domain::persistence_domain D>
void add_transactions(subjects& to, basic_pool<D>& pool, const amounts& how);
/// Roots that are created and dropped, and a store at `path` that is.
template <domain::persistence_domain D>
void add_passing(subjects& to, basic_pool<D>& pool, const std::string& path, const amounts& how);
/// A store of replicas.
void add_store(subjects& to, db::DB& store, const amounts& how);
/// A store of records.
void add_records(subjects& to, db::DB& store, const amounts& how);

}  // namespace outlast::test::soak
