// A server's engine over a bounded cache, as scenarios see it.
#pragma once

#include <outlast/epoch/bounded_cache.hpp>
#include <outlast/epoch/options.hpp>
#include <outlast/server/cached_items.hpp>
#include <outlast/verify/checkers/buffered_oracle.hpp>
#include <outlast/verify/explorer/structure_subject.hpp>
#include <outlast/verify/machine/machine.hpp>
#include <tests/catalogue/served_engine.hpp>
#include <tests/catalogue/served_oracle.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::verify::detail {

/// The cache never reaches a bound, because an eviction would remove an item without a request.
/// `Items`: the key space of a cache.
template <class Policy, class Items = server::cached_items<Policy>>
class served_cache {
  using cache_type = epoch::basic_bounded_cache<Policy>;

 public:
  using pool_type = typename cache_type::pool_type;
  using key_type = std::uint64_t;
  using mapped_type = std::uint64_t;
  using policy_type = Policy;

  served_cache(pool_type& pool, const std::string& name)
      : cache_(pool, name, {.buckets = 2}),
        items_(cache_),
        engine_(items_, [this](std::int64_t now_ms) { cache_.sweep(0, all_buckets, now_ms); }) {
    cache_.pool_clock().configure({.epoch_length = {},
                                   .buffer = 2,
                                   .writes = epoch::write_back::buffered,
                                   .reclaims = epoch::reclamation::tick,
                                   .stream_from_bytes = 64});
  }

  [[nodiscard]] served_engine& engine() noexcept { return engine_; }
  [[nodiscard]] auto& pool_clock() noexcept { return cache_.pool_clock(); }
  [[nodiscard]] std::uint64_t durable_token() const { return items_.durable_token(); }
  [[nodiscard]] std::uint64_t size_estimate() const { return items_.items(); }
  template <class Visit>
  void for_each(Visit&& visit) {
    static_cast<void>(engine_.visit_items([&](std::string_view key) { visit(key); }));
  }

 private:
  static constexpr std::size_t all_buckets = 1 << 16;

  cache_type cache_;
  Items items_;
  served_engine engine_;
};

/// An opened engine. Results have the epoch in which they took effect, as the clock counts it, the
/// token of their replies, and the token that the engine reported to be reached.
template <class Structure>
class served_cache_world final : public structure_world<Structure> {
  using structure_world<Structure>::structure_;

 public:
  using structure_world<Structure>::structure_world;

  outcome apply(const call& what) override {
    auto& clock = structure_->pool_clock();
    switch (static_cast<epoch_operation>(what.kind)) {
      case epoch_operation::advance: spared([&] { clock.tick(); }); return done();
      case epoch_operation::sync: spared([&] { clock.sync(); }); return done();
    }
    static_cast<void>(clock.take_last_epoch());
    outcome result = structure_->engine().apply(what);
    result.stamp = clock.take_last_epoch();
    // A sweep makes a change for each item, also for those that a flush has removed before.
    if (served_oracle::kind_of(what) == served_operation::sweep) result.stamp = 0;
    result.durable = structure_->durable_token();
    return result;
  }

  abstract_state observe() override {
    abstract_state state = structure_->engine().observe();
    state.insert(state.begin(), structure_->pool_clock().boundary());
    return state;
  }

 private:
  outcome done() { return {.ok = true, .durable = structure_->durable_token()}; }
  /// A tick waits for a concurrent tick, so a thread must not be stopped for good inside one.
  template <class Work>
  static void spared(Work&& work) {
    machine::current()->spare(true);
    work();
    machine::current()->spare(false);
  }
};

/// A crash leaves the state at the end of an epoch. A reply is true of that state if its token is
/// not after that epoch.
template <class Structure>
class served_cache_subject final : public structure_subject<Structure> {
 public:
  explicit served_cache_subject(std::string name)
      : structure_subject<Structure>(std::move(name), {}),
        checker_(std::make_shared<served_oracle>(false), epochs_lost) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const auto& how = this->how();
    return std::make_unique<served_cache_world<Structure>>(memory, fresh, how.make, how.blocks);
  }

 private:
  /// As of buffered_map_subject.
  static constexpr std::uint64_t epochs_lost = 3;

  buffered_oracle checker_;
};

}  // namespace outlast::verify::detail
