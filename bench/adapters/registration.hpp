// From types to a registration: included by the generated sources.
#pragma once

#include <bench/engine/registry.hpp>
#include <outlast/domain/counting.hpp>

#include <memory>
#include <utility>

namespace outlast::bench {

template <class Set>
[[nodiscard]] std::unique_ptr<subject> make_subject(const subject_options& options) {
  return std::make_unique<set_subject<Set>>(options);
}

/// A domain that flushes as another one does: the counts are that one's.
template <class Domain>
concept counted_as_another = requires { requires Domain::counted_as_another; };

/// `Set<Domain>` timed, and `Set<counting<Domain>>` counted where the domain flushes at all.
template <template <class> class Set, class Domain>
[[nodiscard]] registration make_registration(combination names) {
  registration entry{std::move(names), &make_subject<Set<Domain>>, {}};
  if constexpr (Domain::flushes() && !counted_as_another<Domain>) {
    entry.make_counting = &make_subject<Set<domain::counting<Domain>>>;
  }
  return entry;
}

}  // namespace outlast::bench
