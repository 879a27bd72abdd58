// A server's engine over a store of records, as scenarios see it.
#pragma once

#include <outlast/base/keyed_hash.hpp>
#include <outlast/db/db.hpp>
#include <outlast/db/options.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/server/stored_items.hpp>
#include <outlast/verify/checkers/buffered_oracle.hpp>
#include <outlast/verify/explorer/structure_subject.hpp>
#include <outlast/verify/machine/machine.hpp>
#include <src/db/db_impl.hpp>
#include <src/server/stored/space_calls.hpp>
#include <src/server/stored/space_part_sweep.hpp>
#include <src/server/stored/space_parts.hpp>
#include <src/server/stored/space_sweep.hpp>
#include <src/server/stored/stored_space.hpp>
#include <tests/catalogue/served_engine.hpp>
#include <tests/catalogue/served_oracle.hpp>
#include <tests/catalogue/store_in_pool.hpp>
#include <tests/catalogue/store_with_marks.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace outlast::verify::detail {

/// An engine of a store that another object owns, and which is not closed with the store: the end
/// of an opened subject writes nothing.
class engine_of_world final : public store_detail::engine {
  using key = std::string_view;

 public:
  explicit engine_of_world(store_detail::engine& of) : of_(of) {}

  void put(key name, std::string_view value, bool sync) override { of_.put(name, value, sync); }
  void erase(key name, bool sync) override { of_.erase(name, sync); }
  void apply(store_detail::changes&& all, bool sync) override { of_.apply(std::move(all), sync); }
  bool apply_if(store_detail::read_set&& read, store_detail::changes&& all, bool sync) override {
    return of_.apply_if(std::move(read), std::move(all), sync);
  }
  bool holds(const store_detail::read_set& read) override { return of_.holds(read); }
  void sync() override { of_.sync(); }
  store_detail::lookup_status get(key name, std::string& value, bool verify) override {
    return of_.get(name, value, verify);
  }
  std::unique_ptr<store_detail::snapshot> take_snapshot() override { return of_.take_snapshot(); }
  store_detail::key_order order() const override { return of_.order(); }
  std::size_t keys() override { return of_.keys(); }
  std::uint64_t bytes_between(key from, key to) override { return of_.bytes_between(from, to); }
  void collect() override { of_.collect(); }
  std::string check() override { return of_.check(); }
  store_detail::repair_counts repair_into(store_detail::engine& to) override {
    return of_.repair_into(to);
  }
  store_detail::store_options shape() const override { return of_.shape(); }
  std::string guarantee() const override { return of_.guarantee(); }
  store_detail::space_use space() override { return of_.space(); }
  std::size_t file_bytes() const override { return of_.file_bytes(); }
  std::size_t log_bytes() const override { return of_.log_bytes(); }
  std::size_t volatile_bytes() override { return of_.volatile_bytes(); }
  std::size_t ring_bytes() const override { return of_.ring_bytes(); }
  void close() override {}

 private:
  store_detail::engine& of_;
};

/// When changes are durable.
enum class served_durability {
  by_store,  ///< at return, as on persistent memory
  by_space,  ///< at return, because the space syncs a store on a disk
  later,     ///< after make_durable()
};

/// A store with a space of items. `Engine`: of store_in_pool.hpp. `Space`: the key space.
template <domain::persistence_domain D, class Engine, served_durability Durability,
          template <class> class Space = server::stored_space>
class served_store {
  using inside = typename Engine::type;
  using space_type = Space<D>;

 public:
  using pool_type = basic_pool<D>;
  using key_type = std::uint64_t;
  using mapped_type = std::uint64_t;
  using policy_type = typename Engine::policy_type;

  served_store(pool_type& pool, std::string_view)
      : engine_of_store_(std::shared_ptr<pool_type>(&pool, [](pool_type*) {}), options()),
        store_("", db::Options(), {}, nullptr, nullptr, nullptr,
               std::make_unique<engine_of_world>(engine_of_store_)),
        items_(store_,
               {.path = "store",
                .sync = Durability == served_durability::by_space,
                .is_durable_at_return = Durability == served_durability::by_store,
                .retained_uses = 4},
               base::hash_key{1, 2}),
        engine_(items_, [this](std::int64_t now_ms) { sweep(now_ms); }) {}

  [[nodiscard]] served_engine& engine() noexcept { return engine_; }
  [[nodiscard]] space_type& items() noexcept { return items_; }
  [[nodiscard]] auto& records() noexcept { return engine_of_store_.records(); }
  [[nodiscard]] std::uint64_t size_estimate() const { return items_.items(); }
  template <class Visit>
  void for_each(Visit&& visit) {
    static_cast<void>(engine_.visit_items([&](std::string_view key) { visit(key); }));
  }
  [[nodiscard]] std::string check() { return engine_of_store_.check(); }

 private:
  static store_detail::store_options options() {
    // A window in which nothing is synced without a demand.
    const bool has_window = Durability != served_durability::by_store;
    return small_store("leveldb.BytewiseComparator", std::chrono::hours(has_window ? 1 : 0));
  }
  /// Removes all that has expired, and the parts of hashes that are gone.
  void sweep(std::int64_t now_ms) {
    while (!items_.sweep(now_ms, 2).is_at_end) {
    }
    // A sweep alone is not durable at return, because it changes no answer.
    if (Durability == served_durability::by_space) items_.make_durable();
  }

  inside engine_of_store_;
  db::db_impl store_;
  space_type items_;
  served_engine engine_;
};

template <class Structure>
class served_store_world final : public structure_world<Structure> {
  using structure_world<Structure>::structure_;

 public:
  using structure_world<Structure>::structure_world;

  outcome apply(const call& what) override { return structure_->engine().apply(what); }
  abstract_state observe() override { return structure_->engine().observe(); }
};

/// Each reply that was returned is true of the store that a crash leaves.
template <class Structure>
class served_store_subject final : public structure_subject<Structure> {
 public:
  explicit served_store_subject(std::string name)
      : structure_subject<Structure>(std::move(name), {.memory_bytes = std::size_t{512} << 10}),
        checker_(true) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const auto& how = this->how();
    return std::make_unique<served_store_world<Structure>>(memory, fresh, how.make, how.blocks);
  }

 private:
  served_oracle checker_;
};

/// An opened engine whose changes are durable later. Results have the mark that covers them, the
/// token of their replies, and the token that the space reported to be reached.
template <class Structure>
class served_window_world final : public structure_world<Structure> {
  using structure_world<Structure>::structure_;

 public:
  template <class... Parts>
  explicit served_window_world(Parts&&... parts)
      : structure_world<Structure>(std::forward<Parts>(parts)...) {
    found_ = structure_->records().found_mark();
  }

  outcome apply(const call& what) override {
    switch (static_cast<epoch_operation>(what.kind)) {
      case epoch_operation::advance:
        // The store syncs at its own times, of which the space is not informed.
        spared([&] { structure_->records().sync(); });
        return done();
      case epoch_operation::sync:
        spared([&] { structure_->items().make_durable(); });
        return done();
    }
    static_cast<void>(structure_->records().take_last_mark());
    outcome result = structure_->engine().apply(what);
    result.stamp = structure_->records().take_last_mark();
    // A sweep makes a change for each item, also for those that a flush has removed before.
    if (served_oracle::kind_of(what) == served_operation::sweep) result.stamp = 0;
    result.reached = structure_->items().durable_token();
    return result;
  }
  abstract_state observe() override {
    abstract_state state = structure_->engine().observe();
    state.insert(state.begin(), found_);
    return state;
  }

 private:
  outcome done() { return {.ok = true, .reached = structure_->items().durable_token()}; }
  /// A sync waits for a concurrent one, so a thread must not be stopped for good inside one.
  template <class Work>
  static void spared(Work&& work) {
    machine::current()->spare(true);
    work();
    machine::current()->spare(false);
  }

  std::uint64_t found_ = 0;
};

/// A crash leaves a prefix of the changes. Each reply whose token is reached is true of it.
template <class Structure>
class served_window_subject final : public structure_subject<Structure> {
 public:
  explicit served_window_subject(std::string name)
      : structure_subject<Structure>(std::move(name), {.memory_bytes = std::size_t{512} << 10}),
        checker_(std::make_shared<served_oracle>(true), any_number_of_marks_lost, {}, {},
                 token_kind::own) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const auto& how = this->how();
    return std::make_unique<served_window_world<Structure>>(memory, fresh, how.make, how.blocks);
  }

 private:
  buffered_oracle checker_;
};

}  // namespace outlast::verify::detail
