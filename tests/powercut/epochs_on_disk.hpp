// Buffered structures in a pool file under power cuts.
#pragma once

#include <outlast/verify/checkers/buffered_oracle.hpp>
#include <outlast/verify/explorer/map_subject.hpp>
#include <outlast/verify/explorer/sequence_subject.hpp>
#include <tests/powercut/map_on_disk.hpp>
#include <tests/powercut/power_cuts.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace outlast::test::powercut {

/// `World` with a clock that its operations move: verify::buffered_world, without a simulator.
template <class World>
class world_of_epochs final : public World {
 public:
  using World::World;

  verify::outcome apply(const verify::call& what) override {
    auto& clock = this->structure_->pool_clock();
    switch (static_cast<verify::epoch_operation>(what.kind)) {
      case verify::epoch_operation::advance:
        clock.tick();
        return {.ok = true, .durable = clock.durable_epoch()};
      case verify::epoch_operation::sync:
        clock.sync();
        return {.ok = true, .durable = clock.durable_epoch()};
    }
    static_cast<void>(clock.take_last_epoch());
    verify::outcome result = World::apply(what);
    result.stamp = clock.take_last_epoch();
    result.durable = clock.durable_epoch();
    return result;
  }

  verify::abstract_state observe() override {
    verify::abstract_state state = World::observe();
    state.insert(state.begin(), this->structure_->pool_clock().boundary());
    return state;
  }
};

/// `World` whose structure is a map of transactions with a window that nobody waits for: epochs are
/// their transitions.
template <class World>
class world_of_windows final : public World {
 public:
  template <class... Parts>
  explicit world_of_windows(Parts&&... parts) : World(std::forward<Parts>(parts)...) {
    boundary_ = manager().durable_commit();
  }

  verify::outcome apply(const verify::call& what) override {
    switch (static_cast<verify::epoch_operation>(what.kind)) {
      case verify::epoch_operation::advance:
      case verify::epoch_operation::sync: manager().sync(); return {true};
    }
    static_cast<void>(manager().take_last_commit());
    verify::outcome result = World::apply(what);
    result.stamp = manager().take_last_commit();
    return result;
  }

  verify::abstract_state observe() override {
    verify::abstract_state state = World::observe();
    state.insert(state.begin(), boundary_);
    return state;
  }

 private:
  [[nodiscard]] auto& manager() { return this->structure_->manager(); }

  std::uint64_t boundary_ = 0;
};

/// `Structure` is buffered, on a domain with a device, under a clock that it moves alone.
template <class Structure>
class epochs_on_disk final : public file_subject {
 public:
  using pool_type = typename Structure::pool_type;
  using parts = verify::structure_parts<Structure>;
  using opener = std::function<std::unique_ptr<verify::world>(std::unique_ptr<pool_type>)>;

  /// A tick makes durable the clock that the tick before wrote.
  static constexpr std::uint64_t epochs_lost = 3;
  /// Epochs do not end by themselves.
  static constexpr std::uint64_t any_number_lost = std::uint64_t{1} << 62;

  /// `open_in` makes the world of what is in a pool; `meaning` says what its operations do.
  epochs_on_disk(std::size_t memory_bytes, std::shared_ptr<const verify::stepwise_oracle> meaning,
                 opener open_in, std::uint64_t lost = epochs_lost, verify::checker_rules rules = {})
      : memory_bytes_(memory_bytes),
        open_in_(std::move(open_in)),
        checker_(std::move(meaning), lost, rules) {}

  [[nodiscard]] const verify::oracle& checker() const override { return checker_; }

  void create(const std::string& path) override {
    create_on_disk<pool_type>(path, options_on_disk(memory_bytes_));
  }

  [[nodiscard]] std::unique_ptr<verify::world> open(const std::string& path, bool grow) override {
    return open_in_(open_on_disk<pool_type>(path, options_on_disk(memory_bytes_), grow));
  }

 private:
  std::size_t memory_bytes_;
  opener open_in_;
  verify::buffered_oracle checker_;
};

/// Transactions of `Map`, a managed map, with a window that ends when sync() is called.
template <class Map>
[[nodiscard]] std::unique_ptr<file_subject> windows_on_disk(std::size_t memory_bytes,
                                                            unsigned replicas) {
  using enum verify::map_operation;
  const auto meaning = std::make_shared<verify::map_oracle>(
      std::vector{insert, put, put, update, erase, erase, get, contains}, true);
  const tx::options space{.replica_bytes = std::size_t{12} << 10,
                          .page_bytes = 256,
                          .replicas = replicas,
                          .max_unsynced_time = std::chrono::hours(1)};
  return std::make_unique<epochs_on_disk<Map>>(
      memory_bytes, meaning,
      [=](auto pool) {
        const auto make = [space](auto& in) {
          auto made = std::make_unique<Map>(in, "subject", space);
          made->manager().sync();
          return made;
        };
        const auto blocks = [](Map&) { return std::size_t{1}; };  // the root block
        return std::make_unique<world_of_windows<verify::map_world<Map>>>(std::move(pool), make,
                                                                          blocks);
      },
      epochs_on_disk<Map>::any_number_lost);
}

}  // namespace outlast::test::powercut
