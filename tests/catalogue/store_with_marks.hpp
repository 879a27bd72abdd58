// Stores of records on a disk, as scenarios see them: writes become durable by marks.
#pragma once

#include <outlast/verify/checkers/buffered_oracle.hpp>
#include <outlast/verify/checkers/transaction_oracle.hpp>
#include <outlast/verify/machine/machine.hpp>
#include <tests/catalogue/store_in_pool.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace outlast::verify::detail {

/// Each change is durable at return. Readers see changes that wait for the device.
template <class Store>
class synced_store_subject final : public structure_subject<Store> {
 public:
  using structure_subject<Store>::structure_subject;

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const auto& how = this->how();
    return std::make_unique<store_world<Store>>(memory, fresh, how.make, how.blocks);
  }

 private:
  transaction_oracle checker_{std::make_shared<store_oracle>(), reader_promise::may_see_the_lost};
};

/// A store that was created on a disk, and is on persistent memory from its next opening on. Each
/// change is durable at return. `OnDisk`, `InMemory`: the store on both.
template <class OnDisk, class InMemory>
class moved_store_subject final : public structure_subject<OnDisk> {
 public:
  explicit moved_store_subject(std::string name)
      : structure_subject<OnDisk>(std::move(name), structure_parts<OnDisk>()) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    if (!fresh) {
      return std::make_unique<store_world<InMemory>>(memory, fresh, moved_.make, moved_.blocks);
    }
    const auto& how = this->how();
    return std::make_unique<store_world<OnDisk>>(memory, fresh, how.make, how.blocks);
  }

 private:
  structure_parts<InMemory> moved_;
  transaction_oracle checker_{std::make_shared<store_oracle>(), reader_promise::may_see_the_lost};
};

/// `World` with marks as epochs. `Simulated`: the simulator schedules its threads.
template <class World, bool Simulated = true>
class world_of_marks final : public World {
 public:
  template <class... Parts>
  explicit world_of_marks(Parts&&... parts) : World(std::forward<Parts>(parts)...) {
    found_ = records().found_mark();
  }

  outcome apply(const call& what) override {
    switch (static_cast<epoch_operation>(what.kind)) {
      case epoch_operation::advance:
      case epoch_operation::sync: sync(); return {true};
    }
    static_cast<void>(records().take_last_mark());
    outcome result = World::apply(what);
    result.stamp = records().take_last_mark();
    return result;
  }

  abstract_state observe() override {
    abstract_state state = World::observe();
    state.insert(state.begin(), found_);
    return state;
  }
  /// Returns the number of the newest mark that the opening found, with which states begin.
  [[nodiscard]] std::uint64_t found() const noexcept { return found_; }

 private:
  [[nodiscard]] auto& records() { return this->structure_->core().records(); }
  /// A sync waits for a concurrent one, so a thread must not be stopped for good inside one.
  void sync() {
    if constexpr (Simulated) machine::current()->spare(true);
    records().sync();
    if constexpr (Simulated) machine::current()->spare(false);
  }

  std::uint64_t found_ = 0;
};

/// Marks do not follow from time: only a sync makes one.
inline constexpr std::uint64_t any_number_of_marks_lost = std::uint64_t{1} << 62;

/// Changes are durable after a sync.
template <class Store>
class marked_store_subject final : public structure_subject<Store> {
  using parts = structure_parts<Store>;

 public:
  /// `fixed`: as of buffered_oracle.
  explicit marked_store_subject(std::string name, std::vector<program> fixed = {})
      : structure_subject<Store>(std::move(name), {.make =
                                                       [](auto& pool) {
                                                         return std::make_unique<Store>(
                                                             pool, "subject", std::chrono::hours(1),
                                                             false);
                                                       }}),
        checker_(std::make_shared<store_oracle>(), any_number_of_marks_lost, {}, std::move(fixed)) {
  }

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const auto& how = this->how();
    return std::make_unique<world_of_marks<store_world<Store>>>(memory, fresh, how.make,
                                                                how.blocks);
  }

 private:
  buffered_oracle checker_;
};

}  // namespace outlast::verify::detail
