// A subject that is copied to another address at each opening.
#include <outlast/verify/explorer/moving_subject.hpp>

#include <outlast/base/cache_line.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace outlast::verify {
namespace {

using medium = domain::simulated;

constexpr std::byte never_written{0xDB};
constexpr std::size_t places = 3;
constexpr std::size_t page = 4096;  // the first holds the number of the place in use

/// Content of lines that were not written. Structures may assume nothing about them.
bool untouched(const std::byte* line) {
  return std::all_of(line, line + base::cache_line_size,
                     [](std::byte each) { return each == never_written; });
}

void poison(std::span<std::byte> memory) {
  static constexpr auto unwritten_page = [] {
    std::array<std::byte, page> bytes{};
    bytes.fill(never_written);
    return bytes;
  }();
  for (std::size_t at = 0; at < memory.size(); at += page) {
    medium::write(&memory[at], unwritten_page.data(), page);
  }
}

void copy_durably(std::span<const std::byte> from, std::span<std::byte> to) {
  constexpr std::size_t line = base::cache_line_size;
  for (std::size_t at = 0; at + line <= from.size(); at += line) {
    if (untouched(&from[at])) continue;
    if (std::memcmp(&to[at], &from[at], line) != 0) medium::write(&to[at], &from[at], line);
    domain::flush<medium>(&to[at], line);  // an earlier copy may have died before its fence
  }
}

}  // namespace

std::size_t moving_subject::memory_bytes() const {
  return page + places * ((moved_->memory_bytes() + page - 1) / page * page);
}

std::span<std::byte> moving_subject::place(std::span<std::byte> memory, std::size_t number) const {
  const std::size_t size = (memory.size() - page) / places;
  return memory.subspan(page + number * size, size);
}

std::span<std::byte> moving_subject::move(std::span<std::byte> memory) const {
  auto& in_use = *reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data());
  const std::uint64_t old = medium::load(in_use, std::memory_order_acquire);
  const std::uint64_t next = (old + 1) % places;
  copy_durably(place(memory, old), place(memory, next));
  // (P1) persisted-before (P2): a place in use holds everything.
  domain::fence<medium>();
  // (P2) the copy is the subject.
  medium::store(in_use, next, std::memory_order_release);
  domain::persist<medium>(&in_use, sizeof in_use);
  return place(memory, next);
}

std::unique_ptr<world> moving_subject::open(std::span<std::byte> memory, bool fresh) {
  if (!fresh) return moved_->open(move(memory), false);
  poison(place(memory, 0));
  return moved_->open(place(memory, 0), true);
}

}  // namespace outlast::verify
