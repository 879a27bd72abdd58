// The verifier explores a stack of your own.
#include "01_reclaiming_stack.hpp"

#include <outlast/verify/explorer/replay.hpp>
#include <outlast/verify/explorer/sequence_subject.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>

// [quote]
using policy = outlast::durable::flit<outlast::durable::tag::adjacent, outlast::durable::automatic,
                                      outlast::domain::simulated>;
// Eager epochs reuse nodes within the few operations of a scenario.
using checked_stack = reclaiming_stack<policy, outlast::verify::eager_epochs>;

int run_verifier(int argc, char** argv) {
  outlast::verify::sequence_subject<checked_stack> tested(
      "reclaiming_stack", outlast::verify::sequence_oracle::discipline::stack,
      // The top is one block; each value has another.
      {.blocks = [](checked_stack&) { return std::size_t{1}; }});
  return outlast::verify::run_program(tested, argc, argv, {.seconds = 2});
}
// [/quote]
int main(int argc, char** argv) { return run_verifier(argc, argv); }
