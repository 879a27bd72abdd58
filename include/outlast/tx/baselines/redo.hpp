// The engines from which redo_opt is made by one step more: redo, redo_timed. To compare with; the
// differences are listed in redo_opt.hpp. [Cor20]
#pragma once

#include <outlast/domain/native.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/tx/detail/redo_manager.hpp>
#include <outlast/tx/manager.hpp>
#include <outlast/tx/options.hpp>

#include <string_view>

namespace outlast::tx {

/// redo_opt without its last two steps: an update takes the replica that misses least, and a line
/// that is repeated or taken back is flushed each time that it is written. [Cor20]
///
/// Thread-safety, progress, durability: as redo_opt's.
template <domain::persistence_domain D = domain::native>
class redo : public detail::redo_manager<redo<D>, D, detail::engine_kind::redo> {
  using base_type = detail::redo_manager<redo<D>, D, detail::engine_kind::redo>;

 public:
  /// As redo_opt's.
  redo(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : base_type(pool, name, wanted) {}
};

/// The same, but an update keeps to the first two replicas for as long as 64 rounds of backoff
/// last: they stay up to date, others need not be written, and operations that wait are run
/// together. [Cor20]
///
/// Thread-safety, progress, durability: as redo_opt's.
template <domain::persistence_domain D = domain::native>
class redo_timed : public detail::redo_manager<redo_timed<D>, D, detail::engine_kind::redo_timed> {
  using base_type = detail::redo_manager<redo_timed<D>, D, detail::engine_kind::redo_timed>;

 public:
  /// As redo_opt's.
  redo_timed(basic_pool<D>& pool, std::string_view name, const options& wanted = {})
      : base_type(pool, name, wanted) {}
};

static_assert(transaction_manager<redo<>>);
static_assert(transaction_manager<redo_timed<>>);

}  // namespace outlast::tx
