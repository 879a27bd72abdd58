// The decision of an opener about the redo log that it finds next to a pool, as a table.
#pragma once

#include <array>
#include <optional>

namespace outlast::pool_detail {

/// The mark in the pool's header.
enum class pool_mark {
  closed,       ///< clean: the file is complete without a log
  open,         ///< dirty, under a domain without a log
  open_logged,  ///< dirty, under domain::logged_file: acknowledged data may be only in the log
};

/// The file under the log's name.
enum class log_found {
  none,            ///< there is no such file, or the pool is a device
  foreign_file,    ///< a file of another program
  unusable,        ///< a log that cannot be read: a damaged header, a later version, a bad device
  other_pool,      ///< a log of another pool
  damaged_inside,  ///< a damaged batch, and intact batches after it
  whole,           ///< intact up to its end
};

/// Whether pool and log are of the same moment. It is known only of a log of this pool.
enum class log_fit {
  fits,
  pool_is_older,  ///< the pool's file lacks batches before the log's first one
  pool_is_newer,  ///< the pool's file may have a part of a batch after the log's last one
  names_outside,  ///< a batch has bytes outside of the pool
};

enum class log_action {
  open_without,  ///< the pool needs no log
  open_torn,     ///< the pool needs a log, and is opened without it
  leave_alone,   ///< the pool needs no log, and the file is not its log
  replay,        ///< brings the batches into the pool's file, up to the damage, if any
  refuse_missing,
  refuse_unusable,
  refuse_other_pool,
  refuse_pool_is_older,
  refuse_names_outside,
  refuse_damaged_inside,
  refuse_stale_log,  ///< the pool was closed and has later changes
  refuse_pool_is_newer,
};

/// Everything on which the decision depends.
struct log_facts {
  pool_mark mark;
  bool logged = false;   ///< the pool is opened under domain::logged_file
  bool salvage = false;  ///< pool_options::salvage
  log_found found = log_found::none;
  log_fit fit = log_fit::fits;

  /// Returns whether a file under the log's name has to be a log of this pool.
  [[nodiscard]] constexpr bool demands_log() const noexcept {
    return logged || mark == pool_mark::open_logged;
  }
};

/// A row of the table. An empty column matches each value.
struct log_rule {
  std::optional<log_found> found;
  std::optional<log_fit> fit;
  std::optional<pool_mark> mark;
  std::optional<bool> demands_log;
  std::optional<bool> salvage;
  log_action action;

  [[nodiscard]] constexpr bool matches(const log_facts& facts) const noexcept {
    return (!found || *found == facts.found) && (!fit || *fit == facts.fit) &&
           (!mark || *mark == facts.mark) &&
           (!demands_log || *demands_log == facts.demands_log()) &&
           (!salvage || *salvage == facts.salvage);
  }
};

/// The table: the first row that matches decides. docs/formats/redo-log.md has the same rows.
inline constexpr auto log_rules = [] {
  using enum log_found;
  using enum log_fit;
  using enum pool_mark;
  using enum log_action;
  constexpr std::nullopt_t any = std::nullopt;
  constexpr bool yes = true;
  constexpr bool no = false;
  // clang-format off
  return std::to_array<log_rule>({
    // file found    pool and log     mark           demanded  salvage  action
    {none,            any,             open_logged,   any,      no,       refuse_missing},
    {none,            any,             open_logged,   any,      yes,      open_torn},
    {none,            any,             any,           any,      any,      open_without},
    {foreign_file,    any,             any,           no,       any,      leave_alone},
    {foreign_file,    any,             any,           yes,      any,      refuse_unusable},
    {unusable,        any,             any,           any,      any,      refuse_unusable},
    {other_pool,      any,             any,           no,       any,      leave_alone},
    {other_pool,      any,             any,           yes,      any,      refuse_other_pool},
    {any,             pool_is_older,   any,           any,      any,      refuse_pool_is_older},
    {any,             names_outside,   any,           any,      any,      refuse_names_outside},
    {damaged_inside,  any,             any,           any,      no,       refuse_damaged_inside},
    {any,             pool_is_newer,   closed,        any,      any,      refuse_stale_log},
    {any,             pool_is_newer,   any,           any,      no,       refuse_pool_is_newer},
    {any,             any,             any,           any,      any,      replay},
  });
  // clang-format on
}();

[[nodiscard]] constexpr log_action decide(const log_facts& facts) noexcept {
  for (const log_rule& each : log_rules) {
    if (each.matches(facts)) return each.action;
  }
  return log_action::replay;  // not reached: the last row matches
}

}  // namespace outlast::pool_detail
