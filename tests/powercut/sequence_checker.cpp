#include <tests/powercut/sequence_checker.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace outlast::test::powercut {
namespace {

std::size_t thread_of(std::uint64_t value) { return static_cast<std::size_t>(value >> 58); }

std::string name_of(std::uint64_t value) {
  return "value " + std::to_string(value & ((std::uint64_t{1} << 58) - 1)) + " of thread " +
         std::to_string(thread_of(value));
}

}  // namespace

std::unique_ptr<checker> sequence_checker::clone() const {
  return std::make_unique<sequence_checker>(*this);
}

void sequence_checker::returned(std::uint32_t, const operation& done) {
  if (done.what == push) {
    // Operations are reported thread by thread, so the pop of this value may come first.
    if (unexplained_.erase(done.value) == 0) present_.insert(done.value);
  } else if (done.what != pop) {
    throw std::invalid_argument("sequence_checker: unknown operation");
  } else if (done.key != 0) {
    if (present_.erase(done.value) == 0) unexplained_.insert(done.value);
    note_gone(done.value);
  }
}

void sequence_checker::interrupted(std::uint32_t, const operation& begun) {
  if (begun.what == push) {
    being_pushed_.insert(begun.value);
  } else {
    ++pops_begun_;
  }
}

std::string sequence_checker::compare(std::span<const entry> survivors) {
  for (const std::uint64_t value : unexplained_) {
    if (being_pushed_.erase(value) == 0) return name_of(value) + " came out twice, or of nowhere";
  }
  values lost = std::exchange(present_, {});
  for (const entry& each : survivors) {
    if (!present_.insert(each.key).second) return name_of(each.key) + " is there twice";
    if (lost.erase(each.key) != 0 || being_pushed_.contains(each.key)) continue;
    return name_of(each.key) + " is there, and had come out or was never put in";
  }
  if (lost.size() > pops_begun_) return name_of(*lost.begin()) + " is lost";
  for (const std::uint64_t value : lost) note_gone(value);
  unexplained_.clear();
  being_pushed_.clear();
  pops_begun_ = 0;
  return disorder(survivors);
}

std::string sequence_checker::disorder(std::span<const entry> survivors) const {
  std::vector<std::uint64_t> pushed;  // in the order in which they must have been
  for (const entry& each : survivors) pushed.push_back(each.key);
  if (order_ == sequence_order::stack) std::reverse(pushed.begin(), pushed.end());
  std::array<std::uint64_t, 64> next{};  // the least that may come now, by thread
  if (order_ == sequence_order::queue) next = gone_;
  for (const std::uint64_t value : pushed) {
    if (value < next[thread_of(value)]) return "the order is wrong at " + name_of(value);
    next[thread_of(value)] = value + 1;
  }
  return {};
}

void sequence_checker::note_gone(std::uint64_t value) {
  std::uint64_t& last = gone_[thread_of(value)];
  last = std::max(last, value + 1);
}

}  // namespace outlast::test::powercut
