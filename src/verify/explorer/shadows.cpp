// The shadow copies of pools in simulated memory.
#include <outlast/verify/explorer/shadows.hpp>

#include <algorithm>
#include <cstring>

namespace outlast::verify {

void shadows::open(std::uintptr_t base, std::size_t bytes) {
  constexpr std::size_t line = 64;
  const std::size_t level = distances_.size() - 1;
  if (areas_.size() == level) areas_.emplace_back();
  area& mine = areas_[level];
  if (mine.size < bytes) {
    mine.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes + line);
    mine.size = bytes;
    std::fill_n(mine.bytes.get(), bytes + line, poison);
  }
  // Objects share a line of the shadow copy if and only if they share a line of the memory.
  const auto first = reinterpret_cast<std::uintptr_t>(mine.bytes.get());
  distances_.push_back((first + line - 1) / line * line - base);
}

std::uint64_t shadows::hash() const {
  if (distances_.size() == 1) return 0;
  const area& mine = areas_[distances_.size() - 2];
  std::uint64_t hash = 0;
  for (std::size_t at = 0; at + 8 <= mine.size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, mine.bytes.get() + at, 8);
    hash = (hash + word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

void shadows::close(std::size_t used) {
  distances_.pop_back();
  area& mine = areas_[distances_.size() - 1];
  std::fill_n(mine.bytes.get(), std::min(used, mine.size) + 64, poison);
}

}  // namespace outlast::verify
