// A durable Treiber stack in bare memory, with its order of flushes chosen by the test: the
// smallest subject that can be wrong in the ways that matter.
#pragma once

#include <outlast/domain/persist.hpp>
#include <outlast/verify/explorer/subject.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <atomic>
#include <stdexcept>

namespace outlast::test {

/// What the author of a stack may get wrong.
enum class stack_defect {
  none,
  node_not_flushed,         ///< the node's content may be lost behind a durable link
  flush_before_link,        ///< the top is flushed before it is changed
  no_completion_fence,      ///< the response outruns the fence
  pop_trusts_the_unfenced,  ///< an empty answer depends on another's unpersisted pop
};

template <stack_defect Defect>
class toy_stack final : public verify::world {
  using D = domain::simulated;

  struct node {
    std::uint64_t value;
    std::uint64_t next;
  };

 public:
  toy_stack(std::span<std::byte> memory, bool fresh) : memory_(memory) {
    top_ = reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data());
    if (fresh) return;
    // A killed process may have left in the caches what is about to be built upon.
    domain::flush<D>(top_, 8);
    for (std::uint64_t at = top(); at != 0; at = read(at).next) {
      domain::flush<D>(memory_.data() + at, sizeof(node));
      used_ = std::max(used_, at / 64);
    }
    domain::fence<D>();
  }

  verify::outcome apply(const verify::call& what) override {
    using verify::sequence_operation;
    if (static_cast<sequence_operation>(what.kind) == sequence_operation::take) return pop();
    push(what.argument);
    return {};
  }

  verify::abstract_state observe() override {
    verify::abstract_state values;
    for (std::uint64_t at = top(); at != 0; at = read(at).next) {
      values.insert(values.begin(), read(at).value);
    }
    return values;
  }

 private:
  std::uint64_t top() { return D::load(*top_, std::memory_order_acquire); }

  node read(std::uint64_t at) {
    D::schedule_point();
    if (at % 64 != 0 || at + sizeof(node) > memory_.size()) throw std::runtime_error("wild link");
    node copy;
    std::memcpy(&copy, memory_.data() + at, sizeof(copy));
    return copy;
  }

  void push(std::uint64_t value) {
    const std::uint64_t at = ++used_ * 64;
    node fresh{value, 0};
    std::uint64_t seen = top();
    do {
      fresh.next = seen;
      D::write(memory_.data() + at, &fresh, sizeof(fresh));
      if constexpr (Defect != stack_defect::node_not_flushed) {
        domain::persist<D>(memory_.data() + at, sizeof(fresh));
      }
    } while (!link(seen, at));
  }

  bool link(std::uint64_t& expected, std::uint64_t desired) {
    if constexpr (Defect == stack_defect::flush_before_link) domain::flush<D>(top_, 8);
    const bool done = D::compare_exchange(*top_, expected, desired, std::memory_order_acq_rel);
    if (!done) return false;
    if constexpr (Defect != stack_defect::flush_before_link) domain::flush<D>(top_, 8);
    if constexpr (Defect != stack_defect::no_completion_fence) domain::fence<D>();
    return true;
  }

  verify::outcome pop() {
    std::uint64_t seen = top();
    for (;;) {
      if (seen == 0) {
        if constexpr (Defect != stack_defect::pop_trusts_the_unfenced) {
          domain::persist<D>(top_, 8);
        }
        return {};
      }
      const node found = read(seen);
      if (link(seen, found.next)) return {true, found.value};
    }
  }

  std::span<std::byte> memory_;
  std::atomic<std::uint64_t>* top_;
  std::uint64_t used_ = 0;
};

template <stack_defect Defect>
[[nodiscard]] verify::bare_subject<toy_stack<Defect>> stack_subject() {
  using verify::sequence_oracle;
  return {"toy_stack", "hand-written",
          std::make_shared<sequence_oracle>(sequence_oracle::discipline::stack)};
}

}  // namespace outlast::test
