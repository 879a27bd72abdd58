// The group commit of a domain: with real threads that of base, else one that can be simulated.
#pragma once

#include <outlast/base/group_commit.hpp>
#include <outlast/domain/backoff.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/hardware_access.hpp>
#include <outlast/domain/spin_lock.hpp>

#include <mutex>
#include <type_traits>

namespace outlast::domain {

/// The same contract as base::group_commit. The simulator schedules its threads: they neither sleep
/// in the kernel nor measure time.
template <persistence_domain D>
class simulated_group_commit {
 public:
  template <class IsDone, class Work>
  void until(IsDone&& is_done, Work&& work) {
    backoff<D> until_free;
    while (!is_done()) {
      const std::unique_lock lead(leading_, std::try_to_lock);
      if (!lead.owns_lock()) {
        until_free.wait();
        continue;
      }
      if (!is_done()) work();
    }
  }

 private:
  spin_lock<D> leading_;
};

template <persistence_domain D>
using group_commit =
    std::conditional_t<has_real_threads<D>, base::group_commit, simulated_group_commit<D>>;

}  // namespace outlast::domain
