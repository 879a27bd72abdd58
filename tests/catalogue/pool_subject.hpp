// What the entries about the pool itself have in common: a map whose keys are names in the pool.
#pragma once

#include <tests/catalogue/catalogue_entries.hpp>
#include <tests/catalogue/pool_accounts.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::verify::detail {

using simulated_pool = basic_pool<domain::simulated>;

/// A value that no operation writes: of something that is not whole.
inline constexpr std::uint64_t torn = ~std::uint64_t{0};

inline constexpr std::string_view key_prefix = "key ";

inline std::string name_of(std::uint64_t key) {
  return std::string(key_prefix) + std::to_string(key);
}

inline std::uint64_t key_of(const std::string& name) {
  std::uint64_t key = torn;
  std::from_chars(name.data() + key_prefix.size(), name.data() + name.size(), key);
  return key;
}

/// The state of a map, from its entries in any order.
inline abstract_state state_of(std::vector<std::pair<std::uint64_t, std::uint64_t>> entries) {
  std::sort(entries.begin(), entries.end());
  abstract_state state;
  for (const auto& [key, value] : entries) {
    state.push_back(key);
    state.push_back(value);
  }
  return state;
}

/// A pool in memory of few pages, its operations made a map by `World(pool)`.
template <class World>
class pool_subject final : public subject {
 public:
  pool_subject(std::string name, std::vector<map_operation> operations, std::size_t pages,
               std::size_t memory_pages)
      : name_(std::move(name)),
        checker_(std::move(operations), true),
        size_bytes_(pages * pool_format::page_bytes),
        memory_bytes_(memory_pages * pool_format::page_bytes) {}

  [[nodiscard]] std::string structure() const override { return name_; }
  [[nodiscard]] std::string policy() const override { return "none"; }
  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::size_t memory_bytes() const override { return memory_bytes_; }
  [[nodiscard]] std::optional<bool> exists(std::span<const std::byte> memory) const override {
    return holds_pool(memory);
  }
  void format(std::span<std::byte> memory) override {
    const auto fresh = open_pool<simulated_pool>(memory, true, size_bytes_, format_version);
    if constexpr (requires { World::prepare(*fresh); }) World::prepare(*fresh);
  }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    return std::make_unique<World>(
        open_checked<simulated_pool>(memory, fresh, size_bytes_, format_version));
  }

 private:
  static constexpr unsigned format_version = [] {
    if constexpr (requires { World::format_version; }) return World::format_version;
    return 0U;
  }();

  std::string name_;
  map_oracle checker_;
  std::size_t size_bytes_;
  std::size_t memory_bytes_;
};

/// The pool has `pages` pages at first and can grow to `memory_pages`.
template <class World>
void add_pool(list& to, const std::string& name, const std::vector<map_operation>& operations,
              scope within, std::size_t pages = 64, std::size_t memory_pages = 64) {
  to.push_back({name, "none",
                [name, operations, pages, memory_pages] {
                  return std::make_unique<pool_subject<World>>(name, operations, pages,
                                                               memory_pages);
                },
                within});
}

}  // namespace outlast::verify::detail
