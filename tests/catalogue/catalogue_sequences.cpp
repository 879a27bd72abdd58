#include <tests/catalogue/catalogue_sequences.hpp>

namespace outlast::verify::detail {

void add_sequences(list& to) {
  for_each_representative([&](auto policy) {
    using chosen = decltype(policy);
    add_queue<std::uint64_t, chosen>(to, "michael_scott_queue");
    add_queue<std::uint64_t, chosen>(to, "michael_scott_queue_three", three_threads);
    add_stack<std::uint64_t, chosen>(to, "stack");
  });
  // Loads of what no tag is ever up for, the head and the links of a stack, flush only here.
  add_queue<std::uint64_t, flushing_policy>(to, "michael_scott_queue");
  add_stack<std::uint64_t, flushing_policy>(to, "stack");
  add_queue<std::uint64_t, marking_policy>(to, "michael_scott_queue");
  add_stack<std::uint64_t, marking_policy>(to, "stack");
  add_queue<wide_value, usual_policy>(to, "michael_scott_queue_wide");
  add_stack<wide_value, usual_policy>(to, "stack_wide");
  add_stack<std::uint64_t, usual_policy>(to, "stack_three", three_threads);
  using sequence = sequence_oracle::discipline;
  add_moving_sequence<queue_of<std::uint64_t, usual_policy>>(to, "michael_scott_queue_moving",
                                                             sequence::queue);
  add_moving_sequence<stack_of<std::uint64_t, usual_policy>>(to, "stack_moving", sequence::stack);
}

}  // namespace outlast::verify::detail
