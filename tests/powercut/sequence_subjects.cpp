#include <tests/powercut/kill_subjects.hpp>

#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/mirror.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/stack.hpp>
#include <tests/powercut/sequence_subject.hpp>
#include <tests/powercut/wide_value.hpp>

#include <cstdint>

namespace outlast::test::powercut {
namespace {

using adjacent = durable::flit<durable::tag::adjacent, durable::automatic, domain::process>;
using hashed = durable::flit<durable::tag::hashed<>, durable::manual, domain::process>;
using mirror = durable::mirror<domain::native>;

}  // namespace

std::vector<definition> sequence_definitions() {
  return {
      define_sequence<lockfree::michael_scott_queue<std::uint64_t, adjacent>>(
          "michael_scott_queue", sequence_order::queue),
      define_sequence<lockfree::michael_scott_queue<wide, hashed>>("michael_scott_queue_wide",
                                                                   sequence_order::queue),
      define_sequence<lockfree::stack<std::uint64_t, adjacent>>("stack", sequence_order::stack),
      define_sequence<lockfree::michael_scott_queue<std::uint64_t, mirror>>(
          "michael_scott_queue_mirror", sequence_order::queue),
      define_sequence<lockfree::stack<std::uint64_t, mirror>>("stack_mirror",
                                                              sequence_order::stack),
  };
}

}  // namespace outlast::test::powercut
