// Verifies buffered structures in a pool. A crash leaves the state at the end of the epoch that the
// clock in the image names.
//
//   using map = outlast::epoch::hash_map<std::uint64_t, std::uint64_t, outlast::domain::simulated>;
//   outlast::verify::buffered_map_subject<map> tested("my_map");
//   outlast::verify::report done = outlast::verify::explorer(tested, {}).run();
//   if (done.found) std::cout << to_text(*done.found);
//
// The structure satisfies the requirements of map_subject.hpp or sequence_subject.hpp and has
// pool_clock(). It begins an epoch::operation for each change and for nothing else. Ticks and syncs
// are operations of the scenarios.
#pragma once

#include <outlast/verify/checkers/buffered_oracle.hpp>
#include <outlast/verify/explorer/graph_subject.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/explorer/sequence_subject.hpp>
#include <outlast/verify/explorer/structure_subject.hpp>
#include <outlast/verify/machine/machine.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify {

/// A `World` with a clock. The observed state begins with the epoch, results of changes have a
/// stamp, and all results have the epoch that the clock claims to be durable.
template <class World>
class buffered_world final : public World {
 public:
  using World::World;

  outcome apply(const call& what) override {
    auto& clock = this->structure_->pool_clock();
    switch (static_cast<epoch_operation>(what.kind)) {
      case epoch_operation::advance:
        spared([&] { clock.tick(); });
        return {.ok = true, .durable = clock.durable_epoch()};
      case epoch_operation::sync:
        spared([&] { clock.sync(); });
        return {.ok = true, .durable = clock.durable_epoch()};
    }
    static_cast<void>(clock.take_last_epoch());
    outcome result = World::apply(what);
    result.stamp = clock.take_last_epoch();
    result.durable = clock.durable_epoch();
    return result;
  }

  abstract_state observe() override {
    abstract_state state = World::observe();
    state.insert(state.begin(), this->structure_->pool_clock().boundary());
    return state;
  }

 private:
  /// A tick waits for a concurrent tick, so a thread must not be stopped for good inside one.
  template <class Work>
  static void spared(Work&& work) {
    machine::current()->spare(true);
    work();
    machine::current()->spare(false);
  }
};

/// The lag of buffered_oracle: during a sync, operations begin in an epoch whose tick is not
/// durable.
inline constexpr std::uint64_t epochs_lost = 3;

/// A buffered map in a pool.
template <class Structure>
class buffered_map_subject final : public structure_subject<Structure> {
 public:
  using parts = structure_parts<Structure>;

  explicit buffered_map_subject(std::string name, parts how = {},
                                std::vector<map_operation> operations = default_operations())
      : structure_subject<Structure>(std::move(name), std::move(how)),
        checker_(std::make_shared<map_oracle>(std::move(operations), true), epochs_lost) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const parts& how = this->how();
    return std::make_unique<buffered_world<map_world<Structure>>>(memory, fresh, how.make,
                                                                  how.blocks);
  }

 private:
  static std::vector<map_operation> default_operations() {
    using enum map_operation;
    return {insert, put, put, update, erase, erase, get, contains};
  }

  buffered_oracle checker_;
};

/// A buffered graph in a pool.
template <class Graph>
class buffered_graph_subject final : public structure_subject<Graph> {
 public:
  using parts = structure_parts<Graph>;

  explicit buffered_graph_subject(std::string name, parts how = {})
      : structure_subject<Graph>(std::move(name), std::move(how)),
        checker_(std::make_shared<graph_oracle>(), epochs_lost) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const parts& how = this->how();
    return std::make_unique<buffered_world<graph_world<Graph>>>(memory, fresh, how.make,
                                                                how.blocks);
  }

 private:
  buffered_oracle checker_;
};

/// A buffered stack or queue in a pool.
template <class Structure>
class buffered_sequence_subject final : public structure_subject<Structure> {
 public:
  using parts = structure_parts<Structure>;
  using discipline = sequence_oracle::discipline;

  buffered_sequence_subject(std::string name, discipline order, parts how = {})
      : structure_subject<Structure>(std::move(name), std::move(how)),
        order_(order),
        checker_(std::make_shared<sequence_oracle>(order), epochs_lost) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const parts& how = this->how();
    return std::make_unique<buffered_world<sequence_world<Structure>>>(order_, memory, fresh,
                                                                       how.make, how.blocks);
  }

 private:
  discipline order_;
  buffered_oracle checker_;
};

}  // namespace outlast::verify
