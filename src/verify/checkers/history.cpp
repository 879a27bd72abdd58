// Histories and their hashes.
#include <outlast/verify/checkers/history.hpp>

#include <outlast/base/hash.hpp>

namespace outlast::verify {

void history::mix(std::uint64_t word) {
  hash_ = base::mix64(hash_ * 31 + base::mix64(word + 0x9e3779b97f4a7c15ULL));
}

std::size_t history::invoke(unsigned thread, const call& what) {
  event& e = events_.emplace_back();
  e.thread = static_cast<std::uint8_t>(thread);
  e.what = what;
  e.invoked = clock_++;
  mix(std::uint64_t{what.kind} << 32 | thread);
  mix(what.key);
  mix(what.argument);
  return events_.size() - 1;
}

void history::respond(std::size_t event_number, const outcome& result) {
  event& e = events_[event_number];
  e.result = result;
  e.responded = clock_++;
  mix(event_number << 1 | (result.ok ? 1 : 0));
  mix(result.value);
  if (result.stamp != 0) mix(result.stamp);
  if (result.durable != 0) mix(result.durable);
  if (result.token != 0) mix(result.token);
  if (result.reached != 0) mix(result.reached);
}

void history::clear() {
  events_.clear();
  clock_ = 0;
  hash_ = 0;
}

}  // namespace outlast::verify
