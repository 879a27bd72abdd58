// The engines redo and redo_timed, from which redo_opt differs by one step each: baselines for
// comparison. redo_opt.hpp lists the differences. [Cor20]
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/redo_manager.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <string_view>

namespace outlast::tx {

/// redo_opt without its last two steps: an update takes the freshest replica, and a line that is
/// replayed or undone is flushed each time that it is written. [Cor20]
///
/// Thread-safety, progress, durability: as redo_opt's.
template <domain::persistence_domain D = domain::native>
class redo : public detail::redo_manager<redo<D>, D, detail::engine_kind::redo> {
  using base_type = detail::redo_manager<redo<D>, D, detail::engine_kind::redo>;

 public:
  /// See redo_opt.
  redo(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : base_type(pool, name, wanted) {}
};

/// redo, except that an update uses only the first two replicas for up to 64 rounds of backoff.
/// These stay up to date, the others are not written, and waiting operations form one batch.
/// [Cor20]
///
/// Thread-safety, progress, durability: as redo_opt's.
template <domain::persistence_domain D = domain::native>
class redo_timed : public detail::redo_manager<redo_timed<D>, D, detail::engine_kind::redo_timed> {
  using base_type = detail::redo_manager<redo_timed<D>, D, detail::engine_kind::redo_timed>;

 public:
  /// See redo_opt.
  redo_timed(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : base_type(pool, name, wanted) {}
};

static_assert(transaction_manager<redo<>>);
static_assert(transaction_manager<redo_timed<>>);

}  // namespace outlast::tx
