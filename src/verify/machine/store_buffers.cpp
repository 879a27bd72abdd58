// The store buffers of the simulated threads.
#include <outlast/verify/machine/store_buffers.hpp>

#include <outlast/base/cache_line.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace outlast::verify {
namespace {

using instruction = buffered::instruction;

/// Words are the common case.
void transfer(std::byte* to, const std::byte* from, std::size_t size) {
  if (size == 8) {
    std::memcpy(to, from, 8);
  } else {
    std::memcpy(to, from, size);
  }
}

}  // namespace

store_buffers::store_buffers(unsigned threads) : queues_(threads) {}

bool store_buffers::full(unsigned thread) const noexcept {
  const queue& mine = queues_[thread];
  if (mine.size() < capacity) return false;
  return std::count_if(mine.begin(), mine.end(), [](const buffered& e) {
           return e.what != instruction::flush;
         }) >= static_cast<std::ptrdiff_t>(capacity);
}

void store_buffers::look_as(unsigned thread) {
  if (thread == viewer_) return;
  lift();
  viewer_ = thread;
  lay();
}

void store_buffers::push(unsigned thread, const buffered& entry) {
  buffered& mine = queues_[thread].emplace_back(entry);
  if (thread == viewer_) lay(mine);
}

bool store_buffers::push_flush(unsigned thread, std::byte* address) {
  queue& mine = queues_[thread];
  const std::uintptr_t line = base::line_of(address);
  const auto delays = [line](const buffered& e) {
    return e.what == instruction::fence ||
           (e.what == instruction::store && base::line_of(e.address) == line);
  };
  const auto last = std::find_if(mine.rbegin(), mine.rend(), delays);
  if (last == mine.rend()) return false;
  buffered flush{};
  flush.what = instruction::flush;
  flush.address = address;
  mine.insert(last.base(), flush);
  return true;
}

buffered store_buffers::pop(unsigned thread) {
  queue& mine = queues_[thread];
  const buffered oldest = mine.front();
  mine.erase(mine.begin());
  return oldest;
}

void store_buffers::lay(buffered& entry) {
  if (entry.what != instruction::store) return;
  transfer(entry.covered.data(), entry.address, entry.size);
  transfer(entry.address, entry.value.data(), entry.size);
}

void store_buffers::lift(const buffered& entry) {
  if (entry.what == instruction::store) {
    transfer(entry.address, entry.covered.data(), entry.size);
  }
}

void store_buffers::lift() {
  const queue& seen = queues_[viewer_];
  for (auto e = seen.rbegin(); e != seen.rend(); ++e) lift(*e);
}

void store_buffers::lay() {
  for (buffered& e : queues_[viewer_]) lay(e);
}

void store_buffers::lift_line(const std::byte* address) {
  const queue& seen = queues_[viewer_];
  for (auto e = seen.rbegin(); e != seen.rend(); ++e) {
    if (base::line_of(e->address) == base::line_of(address)) lift(*e);
  }
}

void store_buffers::lay_line(const std::byte* address) {
  for (buffered& e : queues_[viewer_]) {
    if (base::line_of(e.address) == base::line_of(address)) lay(e);
  }
}

void store_buffers::lift_simulated() {
  const queue& seen = queues_[viewer_];
  for (auto e = seen.rbegin(); e != seen.rend(); ++e) {
    if (!e->outside) lift(*e);
  }
}

void store_buffers::lay_simulated() {
  for (buffered& e : queues_[viewer_]) {
    if (!e.outside) lay(e);
  }
}

void store_buffers::drop() {
  for (queue& each : queues_) each.clear();
}

}  // namespace outlast::verify
