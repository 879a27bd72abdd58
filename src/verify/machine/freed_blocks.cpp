// The free blocks of the simulated memory.
#include <outlast/verify/machine/freed_blocks.hpp>

#include <algorithm>
#include <memory>
#include <string_view>

namespace outlast::verify {
namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// Returns the first of `blocks` that ends after `address`.
template <class Blocks>
auto first_ending_behind(Blocks& blocks, std::uintptr_t address) {
  return std::lower_bound(
      blocks.begin(), blocks.end(), address,
      [](const auto& each, std::uintptr_t at) { return each.begin + each.bytes <= at; });
}

}  // namespace

std::string to_text(const domain::code_line& where) {
  const std::string_view file = where.file == nullptr ? "" : where.file;
  if (file.empty()) return "a place without a name";
  return std::string(file.substr(file.find_last_of('/') + 1)) + ':' + std::to_string(where.line);
}

void freed_blocks::retire(const void* begin, domain::code_line where) {
  retired_.push_back({number(begin), where});
}

void freed_blocks::free(const void* begin, std::size_t bytes, domain::code_line where,
                        unsigned thread) {
  block freed{number(begin), bytes, where, {}, thread};
  const auto known = std::find_if(retired_.begin(), retired_.end(),
                                  [&](const auto& each) { return each.begin == freed.begin; });
  if (known != retired_.end()) {
    freed.retired = known->where;
    retired_.erase(known);
  }
  give(begin, bytes);
  free_.insert(first_ending_behind(free_, freed.begin), freed);
}

void freed_blocks::give(const void* begin, std::size_t bytes) {
  const auto first = first_ending_behind(free_, number(begin));
  auto last = first;
  while (last != free_.end() && last->begin < number(begin) + bytes) ++last;
  free_.erase(first, last);
  // Retired blocks of a dropped root are never freed.
  std::erase_if(retired_,
                [&](const retirement& each) { return each.begin - number(begin) < bytes; });
}

const freed_blocks::block* freed_blocks::find(const void* begin, std::size_t bytes) const noexcept {
  const auto at = first_ending_behind(free_, number(begin));
  const bool found = at != free_.end() && at->begin < number(begin) + bytes;
  return found ? std::to_address(at) : nullptr;
}

}  // namespace outlast::verify
