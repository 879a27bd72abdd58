// Verifies a set or map that lives in a pool, in a few lines:
//
//   using table = my_table<std::uint64_t, std::uint64_t, outlast::durable::flit<
//       outlast::durable::tag::adjacent, outlast::durable::automatic, outlast::domain::simulated>>;
//   outlast::verify::map_subject<table> tested("my_table");
//   outlast::verify::report done = outlast::verify::explorer(tested, {}).run();
//   if (done.found) std::cout << to_text(*done.found);
//
// The structure is constructed as Structure(pool, name, options...), recovers in its constructor,
// and has insert, erase and contains; get, put and update if they make sense; for_each(visit(key,
// value)); the types pool_type, mapped_type and policy_type. If it has arena(), the allocator is
// examined too.
#pragma once

#include <outlast/durable/tag_table.hpp>
#include <outlast/lockfree/detail/value_slot.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/verify/simulated.hpp>
#include <outlast/verify/subject.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::verify {

/// A value larger than a word: torn halves are recognised.
struct wide_value {
  std::uint64_t number = 0;
  std::uint64_t complement = 0;
  friend bool operator==(const wide_value&, const wide_value&) = default;
};

/// Values as the oracle knows them: one number each.
template <class Value>
struct value_code {
  static Value encode(std::uint64_t number) { return static_cast<Value>(number); }
  static std::uint64_t decode(const Value& value) { return static_cast<std::uint64_t>(value); }
};
template <>
struct value_code<lockfree::no_value> {
  static lockfree::no_value encode(std::uint64_t) { return {}; }
  static std::uint64_t decode(lockfree::no_value) { return 0; }
};
template <>
struct value_code<wide_value> {
  static constexpr std::uint64_t torn = ~std::uint64_t{0};
  static wide_value encode(std::uint64_t number) { return {number, ~number}; }
  static std::uint64_t decode(const wide_value& value) {
    return value.complement == ~value.number ? value.number : torn;
  }
};

/// Fills the free pages with what no structure expects there: nothing promises that they are zero.
template <domain::persistence_domain D>
void poison(page_space<D>& pages) {
  std::array<std::byte, 4096> pattern;
  pattern.fill(std::byte{0xDB});
  for (std::uint32_t page = pages.first_page(); page < pages.limit(); ++page) {
    D::write(pages.address_of(page), pattern.data(), pattern.size());
  }
}

/// Whether a pool was formatted in the memory, to its end.
[[nodiscard]] inline bool holds_pool(std::span<const std::byte> memory) {
  std::uint64_t first = 0;
  std::memcpy(&first, memory.data(), sizeof first);
  return first == pool_format::magic;
}

/// The first error that a check has found; "" if there is none.
[[nodiscard]] inline std::string first_error(const std::vector<pool_format::finding>& findings) {
  for (const pool_format::finding& one : findings) {
    if (one.level == pool_format::severity::error) return one.sentence;
  }
  return "";
}

/// A pool that never grows: its volatile tables are as small as it is.
template <class Pool>
[[nodiscard]] std::unique_ptr<Pool> open_pool(std::span<std::byte> memory, bool fresh) {
  pool_options chosen;
  chosen.size_bytes = memory.size();
  chosen.capacity_bytes = memory.size();
  return Pool::in_memory(memory.data(), memory.size(), fresh, chosen);
}

/// One opened structure in its pool.
template <class Structure>
class map_world final : public world {
  using pool_type = typename Structure::pool_type;
  using value = typename Structure::mapped_type;
  using code = value_code<value>;

 public:
  using maker = std::function<std::unique_ptr<Structure>(pool_type&)>;
  /// Blocks that the structure holds besides one per key, if it is known.
  using own_blocks = std::function<std::size_t(Structure&)>;

  map_world(std::span<std::byte> memory, bool fresh, const maker& make, const own_blocks& blocks)
      : map_world(open_pool<pool_type>(memory, fresh), make, blocks) {}
  /// In a pool of any kind. `blocks` must outlive the world.
  map_world(std::unique_ptr<pool_type> pool, const maker& make, const own_blocks& blocks)
      : pool_(std::move(pool)), structure_(make(*pool_)), blocks_(blocks) {}

  outcome apply(const call& what) override {
    switch (static_cast<map_operation>(what.kind)) {
      case map_operation::insert:
        return {structure_->insert(what.key, code::encode(what.argument))};
      case map_operation::erase: return {structure_->erase(what.key)};
      case map_operation::contains: return {structure_->contains(what.key)};
      case map_operation::get: return get(what.key);
      case map_operation::put: return put(what.key, code::encode(what.argument));
      case map_operation::update: return update(what.key, code::encode(what.argument));
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

  std::string check(bool directly_after_opening) override {
    std::string wrong = pool_->pages().check();
    if (wrong.empty()) wrong = first_error(pool_->check());
    if (wrong.empty() && directly_after_opening) wrong = check_estimate();
    if constexpr (requires { structure_->arena(); }) {
      if (wrong.empty()) wrong = check_blocks(directly_after_opening);
    }
    return wrong;
  }

  void close() override {
    structure_.reset();
    pool_->close();
  }

 private:
  // What a structure need not have is not drawn for it either.
  outcome put(std::uint64_t key, const value& to) {
    if constexpr (requires { structure_->put(key, to); }) return {structure_->put(key, to)};
    return {};
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

  /// At rest the estimate is exact. (At the end of an execution a thread may have stopped for
  /// good.)
  std::string check_estimate() {
    if constexpr (requires { structure_->size_estimate(); }) {
      std::size_t keys = 0;
      structure_->for_each([&](const auto&, const auto&) { ++keys; });
      const std::size_t estimate = structure_->size_estimate();
      if (estimate == keys) return "";
      return "there are " + std::to_string(keys) + " keys, and the estimate is " +
             std::to_string(estimate);
    } else {
      return "";
    }
  }

  /// Nothing reachable is free; directly after opening, nothing is in use but what is reachable.
  std::string check_blocks(bool directly_after_opening) {
    std::vector<const std::byte*> keys;
    structure_->for_each([&](const auto& key, const auto&) {
      keys.push_back(reinterpret_cast<const std::byte*>(&key));
    });
    std::sort(keys.begin(), keys.end());
    std::size_t blocks = 0;
    std::size_t keys_in_blocks = 0;
    structure_->arena().for_each_block([&](const void* block, std::size_t usable) {
      const auto* const begin = static_cast<const std::byte*>(block);
      const auto first = std::lower_bound(keys.begin(), keys.end(), begin);
      if (first != keys.end() && *first < begin + usable) ++keys_in_blocks;
      ++blocks;
    });
    if (keys_in_blocks != keys.size()) {
      return std::to_string(keys.size()) + " keys are reachable, but only " +
             std::to_string(keys_in_blocks) + " allocated blocks hold one";
    }
    if (!directly_after_opening || !blocks_) return "";
    const std::size_t kept = structure_->arena().statistics().cached;
    const std::size_t expected = keys.size() + blocks_(*structure_) + kept;
    if (blocks == expected) return "";
    return std::to_string(blocks) + " blocks are allocated where " + std::to_string(expected) +
           " are reachable or at hand: a leak";
  }

  std::unique_ptr<pool_type> pool_;
  std::unique_ptr<Structure> structure_;
  const own_blocks& blocks_;
};

/// A set or map in a pool.
template <class Structure>
class map_subject final : public subject {
  using value = typename Structure::mapped_type;
  using world_type = map_world<Structure>;
  static constexpr bool is_set = std::is_same_v<value, lockfree::no_value>;

 public:
  struct parts {
    /// How it is made; without it, as Structure(pool, "subject").
    typename world_type::maker make = [](auto& pool) {
      return std::make_unique<Structure>(pool, "subject");
    };
    /// Blocks that it holds besides one per key; without it, leaks are not looked for.
    typename world_type::own_blocks blocks = {};
    /// What scenarios are drawn from; more often what is listed more often.
    std::vector<map_operation> operations = all_operations();
    std::size_t memory_bytes = std::size_t{256} << 10;
  };

  explicit map_subject(std::string name, parts how = {})
      : name_(std::move(name)), how_(std::move(how)), judge_(how_.operations, !is_set) {}

  [[nodiscard]] std::string structure() const override { return name_; }
  [[nodiscard]] std::string policy() const override { return Structure::policy_type::name(); }
  [[nodiscard]] const oracle& judge() const override { return judge_; }
  [[nodiscard]] std::size_t memory_bytes() const override { return how_.memory_bytes; }
  [[nodiscard]] std::span<std::byte> volatile_globals() const override {
    return std::as_writable_bytes(durable::tag_counters(durable::smallest_tag_table_bytes));
  }
  [[nodiscard]] std::optional<bool> exists(std::span<const std::byte> memory) const override {
    return holds_pool(memory);
  }
  void format(std::span<std::byte> memory) override {
    static_cast<void>(open_pool<typename Structure::pool_type>(memory, true));
  }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    return std::make_unique<world_type>(memory, fresh, how_.make, how_.blocks);
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

  std::string name_;
  parts how_;
  map_oracle judge_;
};

}  // namespace outlast::verify
