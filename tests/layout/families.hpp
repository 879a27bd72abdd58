// What lies in the golden pools: roots of each family, and what they hold.
#pragma once

#include <outlast/pool/pool.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace outlast::test {

/// Roots of one family in a pool of their own. The texts are the contents, from the structures'
/// own means; they never change, for pools of them exist.
struct family {
  std::string_view name;
  void (*fill)(pool&);
  std::string (*content)(pool&);
  std::string_view filled;  ///< content() after fill()
  void (*change)(pool&);
  std::string_view changed;  ///< content() after change()
};

[[nodiscard]] std::span<const family> families() noexcept;

/// A store, in a directory.
void fill_store(const std::string& directory);
[[nodiscard]] std::string content_of_store(const std::string& directory);
void change_store(const std::string& directory);
inline constexpr std::string_view filled_store = "a=apple c=carrot e= ";
inline constexpr std::string_view changed_store = "a=apple b=bean e= ";

/// The boot during which the pools that were not closed were open.
inline constexpr pool_format::boot_id golden_boot = {6, 1, 0, 1};

}  // namespace outlast::test
