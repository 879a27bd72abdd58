// Verifies a stack or queue in a pool:
//
//   using queue = my_queue<std::uint64_t, outlast::durable::flit<
//       outlast::durable::tag::adjacent, outlast::durable::automatic, outlast::domain::simulated>>;
//   outlast::verify::sequence_subject<queue> tested(
//       "my_queue", outlast::verify::sequence_oracle::discipline::queue);
//   outlast::verify::report done = outlast::verify::explorer(tested, {}).run();
//   if (done.found) std::cout << to_text(*done.found);
//
// The structure is constructed as Structure(pool, name, options...) and recovers in its
// constructor. It has push(value), pop() -> optional, and the types pool_type, value_type and
// policy_type. It has for_each(visit(value)), which begins with the value that pop would return. If
// it has empty() or arena(), these are examined too.
#pragma once

#include <outlast/verify/explorer/structure_subject.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace outlast::verify {

/// One opened stack or queue in its pool.
template <class Structure>
class sequence_world : public structure_world<Structure> {
  using base_type = structure_world<Structure>;
  using value = typename Structure::value_type;
  using code = value_code<value>;

 protected:
  using base_type::structure_;

 public:
  using discipline = sequence_oracle::discipline;

  template <class... Arguments>
  explicit sequence_world(discipline order, Arguments&&... arguments)
      : base_type(std::forward<Arguments>(arguments)...), order_(order) {}

  outcome apply(const call& what) override {
    if (static_cast<sequence_operation>(what.kind) == sequence_operation::add) {
      structure_->push(code::encode(what.argument));
      return {};
    }
    if (says_empty()) return {};
    const std::optional<value> taken = structure_->pop();
    return taken ? outcome{true, code::decode(*taken)} : outcome{};
  }

  abstract_state observe() override {
    abstract_state state;
    structure_->for_each([&](const value& held) { state.push_back(code::decode(held)); });
    if (order_ == discipline::stack) std::reverse(state.begin(), state.end());
    return state;
  }

 private:
  /// Every other take calls empty() first. A result "empty" is checked like that of a pop.
  bool says_empty() {
    if constexpr (requires { structure_->empty(); }) {
      return std::exchange(is_empty_next_, !is_empty_next_) && structure_->empty();
    } else {
      return false;
    }
  }

  discipline order_;
  bool is_empty_next_ = false;
};

/// A stack or queue in a pool.
template <class Structure>
class sequence_subject final : public structure_subject<Structure> {
 public:
  using parts = structure_parts<Structure>;
  using discipline = sequence_oracle::discipline;

  sequence_subject(std::string name, discipline order, parts how = {})
      : structure_subject<Structure>(std::move(name), how), order_(order), checker_(order) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const parts& how = this->how();
    return std::make_unique<sequence_world<Structure>>(order_, memory, fresh, how.make, how.blocks);
  }

 private:
  discipline order_;
  sequence_oracle checker_;
};

}  // namespace outlast::verify
