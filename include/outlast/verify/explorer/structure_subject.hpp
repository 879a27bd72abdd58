// The common part of subjects that are structures in a pool. map_subject.hpp has sets and maps,
// sequence_subject.hpp has stacks and queues.
#pragma once

#include <outlast/algorithm/value_slot.hpp>
#include <outlast/durable/tag_table.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/replica_pair.hpp>
#include <outlast/verify/explorer/subject.hpp>
#include <outlast/verify/machine/impl/instances.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::verify {

/// A value larger than a word, in which torn halves are recognised.
struct wide_value {
  std::uint64_t number = 0;
  std::uint64_t complement = 0;
  friend bool operator==(const wide_value&, const wide_value&) = default;
};

/// Converts values to the numbers that the oracle uses, and back.
template <class Value>
struct value_code {
  static Value encode(std::uint64_t number) { return static_cast<Value>(number); }
  static std::uint64_t decode(const Value& value) { return static_cast<std::uint64_t>(value); }
};
template <>
struct value_code<roots::no_value> {
  static roots::no_value encode(std::uint64_t) { return {}; }
  static std::uint64_t decode(roots::no_value) { return 0; }
};
/// Converts strings from whose bytes a torn value is recognised.
template <>
struct value_code<std::string> {
  static constexpr std::size_t words = 12;
  static std::string encode(std::uint64_t number) {
    std::uint64_t all[words];
    for (std::size_t i = 0; i < words; ++i) all[i] = number * (i + 1);
    return {reinterpret_cast<const char*>(all), sizeof all};
  }
  static std::uint64_t decode(std::string_view value) {
    std::uint64_t number = 0;
    std::memcpy(&number, value.data(), std::min(value.size(), sizeof number));
    return value == encode(number) ? number : ~std::uint64_t{0};
  }
};
template <>
struct value_code<wide_value> {
  static constexpr std::uint64_t torn = ~std::uint64_t{0};
  static wide_value encode(std::uint64_t number) { return {number, ~number}; }
  static std::uint64_t decode(const wide_value& value) {
    return value.complement == ~value.number ? value.number : torn;
  }
};

/// Fills the free pages with bytes that no structure expects, because free pages need not be zero.
template <domain::persistence_domain D>
void poison(page_space<D>& pages) {
  std::array<std::byte, 4096> pattern;
  pattern.fill(std::byte{0xDB});
  for (std::uint32_t page = pages.first_page(); page < pages.limit(); ++page) {
    D::write(pages.address_of(page), pattern.data(), pattern.size());
  }
}

/// Returns true if the formatting of a pool in the memory was completed.
[[nodiscard]] inline bool holds_pool(std::span<const std::byte> memory) {
  std::uint64_t first = 0;
  std::memcpy(&first, memory.data(), sizeof first);
  return first == pool_format::magic;
}

/// Returns the first error that a check has found, or "" if there is none.
[[nodiscard]] inline std::string first_error(const std::vector<pool_format::finding>& findings) {
  for (const pool_format::finding& one : findings) {
    if (one.level == pool_format::severity::error) return one.sentence;
  }
  return "";
}

/// Opens a pool whose volatile tables are as small as its memory. It initially uses `size_bytes`.
template <class Pool>
[[nodiscard]] std::unique_ptr<Pool> open_pool(std::span<std::byte> memory, bool fresh,
                                              std::size_t size_bytes, unsigned format_version = 0) {
  pool_options chosen;
  chosen.size_bytes = size_bytes;
  chosen.capacity_bytes = memory.size();
  chosen.format_version = format_version;
  return Pool::in_memory(memory.data(), memory.size(), fresh, chosen);
}

/// Opens a pool that uses all of its memory.
template <class Pool>
[[nodiscard]] std::unique_ptr<Pool> open_pool(std::span<std::byte> memory, bool fresh) {
  return open_pool<Pool>(memory, fresh, memory.size());
}

/// The domain of a pool.
template <class Pool>
struct domain_of_pool;
template <domain::persistence_domain D>
struct domain_of_pool<basic_pool<D>> {
  using type = D;
};
template <class Pool>
using domain_of = typename domain_of_pool<Pool>::type;

/// The construction of a structure in its pool.
template <class Structure>
struct structure_parts {
  using pool_type = typename Structure::pool_type;
  using maker = std::function<std::unique_ptr<Structure>(pool_type&)>;
  /// Returns the number of blocks of a structure in addition to one per element.
  using own_blocks = std::function<std::size_t(Structure&)>;

  /// Constructs the structure. The default is Structure(pool, "subject").
  maker make = [](auto& pool) { return std::make_unique<Structure>(pool, "subject"); };
  /// The number of its blocks in addition to one per element. Without it, leaks are not detected.
  own_blocks blocks = {};
  std::size_t memory_bytes = std::size_t{256} << 10;
};

/// One opened structure in its pool. The first argument of each visit of its `for_each` is a
/// reference into the block of the element. If it has check(), that returns the first defect, or
/// "".
template <class Structure>
class structure_world : public world {
  using pool_type = typename Structure::pool_type;

 public:
  using maker = typename structure_parts<Structure>::maker;
  using own_blocks = typename structure_parts<Structure>::own_blocks;

  structure_world(std::span<std::byte> memory, bool fresh, const maker& make,
                  const own_blocks& blocks)
      : structure_world(open_pool<pool_type>(memory, fresh), make, blocks) {}
  /// Constructs the structure in a pool of any kind. Requires: `blocks` outlives the world.
  structure_world(std::unique_ptr<pool_type> pool, const maker& make, const own_blocks& blocks)
      : pool_(std::move(pool)), structure_(make(*pool_)), blocks_(blocks) {}

  std::string check(bool directly_after_opening) override {
    std::string wrong = pool_->pages().check();
    if (wrong.empty()) wrong = first_error(pool_->check());
    if (wrong.empty() && directly_after_opening) wrong = check_estimate();
    if constexpr (requires { structure_->arena(); }) {
      if (wrong.empty()) wrong = check_blocks(directly_after_opening);
    }
    if constexpr (requires { structure_->check(); }) {
      if (wrong.empty()) wrong = structure_->check();
    }
    return wrong;
  }

  void close() override {
    structure_.reset();
    pool_->close();
  }

 private:
  using address = const std::byte*;

  /// Returns the addresses of the elements, ascending. A visited element can be in the shadow copy.
  std::vector<address> elements() {
    std::vector<address> all;
    structure_->for_each([&](const auto& first, const auto&...) {
      const auto* const seen = reinterpret_cast<address>(&first);
      all.push_back(pool_->pages().contains(seen) ? seen : original_of<domain_of<pool_type>>(seen));
    });
    std::sort(all.begin(), all.end());
    return all;
  }

  /// Checks that the estimate is exact, as it must be at rest. (At the end of an execution a thread
  /// may have stopped for good.)
  std::string check_estimate() {
    if constexpr (requires { structure_->size_estimate(); }) {
      const std::size_t there = elements().size();
      const std::size_t estimate = structure_->size_estimate();
      if (estimate == there) return "";
      return "there are " + std::to_string(there) + " elements, and the estimate is " +
             std::to_string(estimate);
    } else {
      return "";
    }
  }

  /// Checks that no reachable block is free and that, directly after opening, only reachable blocks
  /// are in use. Elements that are visited as copies, outside the pool, have one block each.
  std::string check_blocks(bool directly_after_opening) {
    const std::vector<address> reachable = elements();
    std::size_t blocks = 0;
    std::size_t in_blocks = 0;
    structure_->arena().for_each_block([&](const void* block, std::size_t usable) {
      const auto* const begin = static_cast<address>(block);
      const auto first = std::lower_bound(reachable.begin(), reachable.end(), begin);
      if (first != reachable.end() && *first < begin + usable) ++in_blocks;
      ++blocks;
    });
    const bool are_copies = !reachable.empty() && !pool_->pages().contains(reachable.front());
    if (are_copies) in_blocks = std::min(blocks, reachable.size());
    if (in_blocks != reachable.size()) {
      return std::to_string(reachable.size()) + " elements are reachable, but only " +
             std::to_string(in_blocks) + " allocated blocks hold one";
    }
    if (!directly_after_opening || !blocks_) return "";
    const std::size_t kept = structure_->arena().statistics().cached;
    const std::size_t expected = reachable.size() + blocks_(*structure_) + kept;
    if (blocks == expected) return "";
    return std::to_string(blocks) + " blocks are allocated where " + std::to_string(expected) +
           " are reachable or at hand: a leak";
  }

  std::unique_ptr<pool_type> pool_;

 protected:
  std::unique_ptr<Structure> structure_;

 private:
  const own_blocks& blocks_;
};

/// A structure in a pool of its own. A derived class adds the checker and the world.
template <class Structure>
class structure_subject : public subject {
  using pool_type = typename Structure::pool_type;

 public:
  structure_subject(std::string name, structure_parts<Structure> how)
      : name_(std::move(name)), how_(std::move(how)) {}

  [[nodiscard]] std::string structure() const override { return name_; }
  [[nodiscard]] std::string policy() const override { return Structure::policy_type::name(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return how_.memory_bytes; }
  [[nodiscard]] std::span<std::byte> volatile_globals() const override {
    return std::as_writable_bytes(durable::tag_counters(durable::smallest_tag_table_bytes));
  }
  [[nodiscard]] std::optional<bool> exists(std::span<const std::byte> memory) const override {
    return holds_pool(memory);
  }
  void format(std::span<std::byte> memory) override {
    static_cast<void>(open_pool<pool_type>(memory, true));
  }

 protected:
  [[nodiscard]] const structure_parts<Structure>& how() const noexcept { return how_; }

 private:
  std::string name_;
  structure_parts<Structure> how_;
};

}  // namespace outlast::verify
