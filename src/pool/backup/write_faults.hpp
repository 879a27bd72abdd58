// Stores to write-protected memory, which SIGSEGV reports.
#pragma once

#include <cstddef>
#include <cstdint>

namespace outlast::pool_detail {

/// A range of memory of which its owner has write-protected parts.
class fault_receiver {
 public:
  enum class verdict {
    not_mine,  ///< the address is outside of the parts
    resolved,  ///< the address was protected and can be written
    writable,  ///< the address could be written before the call
  };

  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::byte* end() const noexcept { return end_; }

  /// Makes a byte writable that a store has met. Called in a signal handler, by the storing thread.
  [[nodiscard]] virtual verdict let_write(const std::byte* address) noexcept = 0;

 protected:
  fault_receiver() = default;
  ~fault_receiver() = default;
  /// Requires: the object receives no faults.
  void set_range(std::byte* begin, std::byte* end) noexcept {
    begin_ = begin;
    end_ = end;
  }
  fault_receiver(const fault_receiver&) = delete;
  fault_receiver& operator=(const fault_receiver&) = delete;

 private:
  std::byte* begin_ = nullptr;
  std::byte* end_ = nullptr;
};

/// Sends the faults of stores in the receiver's range to it. Other faults go to the handler of
/// SIGSEGV that the process had. The handler stays installed. Throws error{refused} if too many
/// receivers exist.
void receive_faults(fault_receiver& receiver);
/// Ends this. No handler uses the receiver at return. Requires: its whole range is writable.
void stop_receiving_faults(fault_receiver& receiver) noexcept;

}  // namespace outlast::pool_detail
