// The entries of stack and queue, for any policy.
#pragma once

#include <tests/catalogue/catalogue_entries.hpp>

#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/lockfree/stack.hpp>
#include <outlast/verify/explorer/sequence_subject.hpp>

namespace outlast::verify::detail {

template <class Value, class Policy>
using queue_of = lockfree::michael_scott_queue<Value, Policy, eager_epochs>;
template <class Value, class Policy>
using stack_of = lockfree::stack<Value, Policy, eager_epochs>;

/// Enough operations to take before an addition has ended, and to fill and empty the sequence.
inline constexpr scope two_threads{.threads = 2, .operations = 3, .keys = 1, .prefill = 2};
/// A third one meets those who help and those who are helped.
inline constexpr scope three_threads{.threads = 3, .operations = 2, .keys = 1, .prefill = 1};

/// The root block; of a queue also the node of the value that was taken last.
template <class Queue>
structure_parts<Queue> parts_of(sequence_oracle::discipline order) {
  structure_parts<Queue> how;
  const bool is_queue = order == sequence_oracle::discipline::queue;
  how.blocks = [is_queue](Queue&) { return std::size_t{is_queue ? 2U : 1U}; };
  return how;
}

template <class Structure>
void add_sequence(list& to, const std::string& name, sequence_oracle::discipline order,
                  scope within) {
  const auto make = [name, order] {
    return std::make_unique<sequence_subject<Structure>>(name, order, parts_of<Structure>(order));
  };
  to.push_back(
      {name, Structure::policy_type::name(), make, within, name_in_functions<Structure>()});
}

/// The structure in a pool that lies elsewhere whenever it is opened.
template <class Structure>
void add_moving_sequence(list& to, const std::string& name, sequence_oracle::discipline order) {
  const auto make = [name, order] {
    auto how = parts_of<Structure>(order);
    how.memory_bytes = std::size_t{128} << 10;  // it is copied at each opening
    return std::make_unique<moving_subject>(
        name, std::make_unique<sequence_subject<Structure>>(name, order, how));
  };
  to.push_back(
      {name, Structure::policy_type::name(), make, two_threads, name_in_functions<Structure>()});
}

template <class Value, class Policy>
void add_queue(list& to, const std::string& name, scope within = two_threads) {
  add_sequence<queue_of<Value, Policy>>(to, name, sequence_oracle::discipline::queue, within);
}

template <class Value, class Policy>
void add_stack(list& to, const std::string& name, scope within = two_threads) {
  add_sequence<stack_of<Value, Policy>>(to, name, sequence_oracle::discipline::stack, within);
}

}  // namespace outlast::verify::detail
