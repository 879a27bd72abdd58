// How many flushes and fences something costs the calling thread.
#pragma once

#include <outlast/base/thread_context.hpp>

#include <cstdint>
#include <ostream>

namespace outlast::test {

/// As a domain `counting<...>` counts them.
struct cost {
  std::uint64_t flushes;
  std::uint64_t fences;
  friend bool operator==(const cost&, const cost&) = default;
};
inline void PrintTo(const cost& c, std::ostream* out) {
  *out << c.flushes << " flushes, " << c.fences << " fences";
}

template <class Action>
cost cost_of(Action&& action) {
  const base::thread_context& me = base::this_thread();
  const cost before{me.flushes, me.fences};
  action();
  return {me.flushes - before.flushes, me.fences - before.fences};
}

}  // namespace outlast::test
