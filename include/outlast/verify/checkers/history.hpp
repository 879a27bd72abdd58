// The history of an execution: the invocations and the responses of the threads.
#pragma once

#include <cstdint>
#include <vector>

namespace outlast::verify {

/// One operation on a subject. The oracle defines the meaning of `kind`.
struct call {
  std::uint8_t kind = 0;
  std::uint64_t key = 0;
  std::uint64_t argument = 0;
};

/// The result of an operation.
struct outcome {
  bool ok = false;
  std::uint64_t value = 0;
  /// The position of the operation in the subject's own order: the epoch in which it took effect,
  /// or the number of a transaction. 0: unknown. The stamp is not a part of the result.
  std::uint64_t stamp = 0;
  /// The stamp up to which the subject claimed durability when the operation responded. 0: none.
  std::uint64_t durable = 0;
  /// The stamp whose durability makes the result durable, as the subject promised. 0: no promise.
  std::uint64_t token = 0;
  /// The token up to which the subject claimed durability, if its tokens are not stamps.
  std::uint64_t reached = 0;

  friend bool operator==(const outcome& a, const outcome& b) {
    return a.ok == b.ok && a.value == b.value;
  }
};

/// One operation in a history; `responded` is `never` while it is pending.
struct event {
  static constexpr std::uint32_t never = ~std::uint32_t{0};
  std::uint8_t thread = 0;
  call what;
  outcome result;
  std::uint32_t invoked = 0;
  std::uint32_t responded = never;

  [[nodiscard]] bool pending() const noexcept { return responded == never; }
};

/// A sequence of invocations and responses with a logical clock.
class history {
 public:
  /// Returns the event's number, for `respond`.
  std::size_t invoke(unsigned thread, const call& what);
  void respond(std::size_t event_number, const outcome& result);
  void clear();

  [[nodiscard]] const std::vector<event>& events() const noexcept { return events_; }
  /// Returns a hash of content and order, which is equal for equal histories.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  void mix(std::uint64_t word);

  std::vector<event> events_;
  std::uint32_t clock_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace outlast::verify
