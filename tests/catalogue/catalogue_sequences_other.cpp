#include <tests/catalogue/catalogue_sequences.hpp>

namespace outlast::verify::detail {

void add_sequences_of_other_policies(list& to) {
  for_each_other_policy([&](auto policy) {
    using chosen = decltype(policy);
    if constexpr (!is_one_of<chosen, flushing_policy, marking_policy>) {
      add_queue<std::uint64_t, chosen>(to, "michael_scott_queue");
      add_stack<std::uint64_t, chosen>(to, "stack");
    }
    add_queue<std::uint64_t, chosen>(to, "michael_scott_queue_three", three_threads);
    add_stack<std::uint64_t, chosen>(to, "stack_three", three_threads);
  });
}

}  // namespace outlast::verify::detail
