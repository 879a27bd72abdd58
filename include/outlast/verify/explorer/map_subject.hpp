// Verifies a set or map in a pool:
//
//   using table = my_table<std::uint64_t, std::uint64_t, outlast::durable::flit<
//       outlast::durable::tag::adjacent, outlast::durable::automatic, outlast::domain::simulated>>;
//   outlast::verify::map_subject<table> tested("my_table");
//   outlast::verify::report done = outlast::verify::explorer(tested, {}).run();
//   if (done.found) std::cout << to_text(*done.found);
//
// The structure is constructed as Structure(pool, name, options...) and recovers in its
// constructor. It has insert, erase and contains, for_each(visit(key, value)), and the types
// pool_type, mapped_type and policy_type. It can have get, put and update. If it has arena(), the
// allocator is examined too. If it has check(), which returns the first defect or an empty string,
// that is called.
#pragma once

#include <outlast/verify/explorer/structure_subject.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::verify {

/// One opened set or map in its pool.
template <class Structure>
class map_world : public structure_world<Structure> {
  using base_type = structure_world<Structure>;
  using value = typename Structure::mapped_type;
  using code = value_code<value>;

 protected:
  using base_type::structure_;

 public:
  using base_type::base_type;

  outcome apply(const call& what) override {
    switch (static_cast<map_operation>(what.kind)) {
      case map_operation::insert:
        return {structure_->insert(what.key, code::encode(what.argument))};
      case map_operation::erase: return {structure_->erase(what.key)};
      case map_operation::contains: return {structure_->contains(what.key)};
      case map_operation::get: return get(what.key);
      case map_operation::put: return put(what.key, code::encode(what.argument));
      case map_operation::update: return update(what.key, code::encode(what.argument));
      case map_operation::clear: return clear();
    }
    return {};
  }

  abstract_state observe() override {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
    structure_->for_each(
        [&](const auto& key, const auto& held) { entries.emplace_back(key, code::decode(held)); });
    std::sort(entries.begin(), entries.end());
    abstract_state state;
    for (const auto& [key, number] : entries) {
      state.push_back(key);
      state.push_back(number);
    }
    return state;
  }

 private:
  // A function that the structure does not have is not drawn for it.
  outcome put(std::uint64_t key, const value& to) {
    if constexpr (requires { structure_->put(key, to); }) return {structure_->put(key, to)};
    return {};
  }
  outcome clear() {
    if constexpr (requires { structure_->clear(); }) structure_->clear();
    return {true};
  }
  outcome update(std::uint64_t key, const value& to) {
    if constexpr (requires { structure_->update(key, to); }) return {structure_->update(key, to)};
    return {};
  }
  outcome get(std::uint64_t key) {
    if constexpr (requires { structure_->get(key); }) {
      const std::optional<value> found = structure_->get(key);
      return found ? outcome{true, code::decode(*found)} : outcome{};
    } else {
      return {};
    }
  }
};

/// A set or map in a pool.
template <class Structure>
class map_subject final : public structure_subject<Structure> {
  using value = typename Structure::mapped_type;
  static constexpr bool is_set = std::is_same_v<value, roots::no_value>;

 public:
  /// The members of structure_parts, and the operations.
  struct parts {
    typename structure_parts<Structure>::maker make = structure_parts<Structure>().make;
    typename structure_parts<Structure>::own_blocks blocks = {};
    /// The operations from which scenarios are drawn. An operation that is listed twice is drawn
    /// twice as often.
    std::vector<map_operation> operations = all_operations();
    std::size_t memory_bytes = structure_parts<Structure>().memory_bytes;
  };

  explicit map_subject(std::string name, parts how = {})
      : structure_subject<Structure>(std::move(name), {how.make, how.blocks, how.memory_bytes}),
        checker_(how.operations, !is_set) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const auto& how = this->how();
    return std::make_unique<map_world<Structure>>(memory, fresh, how.make, how.blocks);
  }

 private:
  static std::vector<map_operation> all_operations() {
    using enum map_operation;
    std::vector<map_operation> all = {insert, insert, erase, erase, contains};
    if (is_set) return all;
    if (requires(Structure& s, const value& v) { s.get(0); }) all.push_back(get);
    if (requires(Structure& s, const value& v) { s.put(0, v); }) all.push_back(put);
    if (requires(Structure& s, const value& v) { s.update(0, v); }) all.push_back(update);
    return all;
  }

  map_oracle checker_;
};

}  // namespace outlast::verify
