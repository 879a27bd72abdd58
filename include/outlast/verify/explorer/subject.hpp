// The interface of subjects. A subject opens in a range of memory, performs operations, and can be
// opened again on the memory that a crash left.
#pragma once

#include <outlast/verify/checkers/history.hpp>
#include <outlast/verify/checkers/oracle.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace outlast::verify {

class memory;

/// An opened subject: its volatile half. Its destruction writes nothing persistent.
class world {
 public:
  virtual ~world() = default;
  /// Performs one operation. The machine's threads call it.
  virtual outcome apply(const call& what) = 0;
  /// Returns the whole state.
  virtual abstract_state observe() = 0;
  /// Examines state that the oracle does not contain, such as the allocator and the pool. Returns
  /// the first defect, or "". Directly after opening, only reachable memory may be in use.
  virtual std::string check(bool directly_after_opening) {
    static_cast<void>(directly_after_opening);
    return {};
  }
  /// Examines the stores at risk at a crash point, for guarantees that the protocol gives for every
  /// possible image. Returns the first defect, or "".
  [[nodiscard]] virtual std::string check_risks(const memory& media) const {
    static_cast<void>(media);
    return {};
  }
  /// Closes the subject. The next `open` finds a clean memory.
  virtual void close() {}
};

/// Thread-safety: used by one thread.
class subject {
 public:
  virtual ~subject() = default;
  /// Return the names of structure and policy.
  [[nodiscard]] virtual std::string structure() const = 0;
  [[nodiscard]] virtual std::string policy() const = 0;
  [[nodiscard]] virtual const oracle& checker() const = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const { return std::size_t{1} << 20; }
  /// Returns volatile memory outside the world that a crash clears, such as tables of
  /// flit-counters.
  [[nodiscard]] virtual std::span<std::byte> volatile_globals() const { return {}; }
  /// Returns memory outside the world that a kill leaves and a crash of the machine clears, such as
  /// a file of tmpfs. It may grow, and no part of it moves.
  [[nodiscard]] virtual std::span<std::byte> kept_by_kills() const { return {}; }
  /// Returns true if `open(memory, false)` finds something to open in `memory`. A subject that
  /// implements this receives memory filled with 0xDB instead of zeros. Power is also cut while
  /// `open(memory, true)` formats it, and an incomplete format is then repeated.
  [[nodiscard]] virtual std::optional<bool> exists(std::span<const std::byte> memory) const {
    static_cast<void>(memory);
    return std::nullopt;
  }
  /// Prepares fresh memory so that `open(memory, false)` can create the subject in it, under crash
  /// points. The subject that `open` creates is empty.
  virtual void format(std::span<std::byte> memory) { static_cast<void>(open(memory, true)); }
  /// Opens the subject in `memory`. It creates the subject if `fresh` is true, and otherwise
  /// recovers it. Fresh memory is zeroed unless the subject implements `exists()`. Recovery can be
  /// interrupted at any fence and begun again.
  [[nodiscard]] virtual std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) = 0;
};

/// A subject that needs only bare memory. Its world is constructed as `World(memory, fresh)`.
template <class World>
class bare_subject final : public subject {
 public:
  bare_subject(std::string structure, std::string policy, std::shared_ptr<const oracle> checker,
               std::size_t memory_bytes = 16 * 1024)
      : structure_(std::move(structure)),
        policy_(std::move(policy)),
        checker_(std::move(checker)),
        memory_bytes_(memory_bytes) {}
  [[nodiscard]] std::string structure() const override { return structure_; }
  [[nodiscard]] std::string policy() const override { return policy_; }
  [[nodiscard]] const oracle& checker() const override { return *checker_; }
  [[nodiscard]] std::size_t memory_bytes() const override { return memory_bytes_; }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    return std::make_unique<World>(memory, fresh);
  }

 private:
  std::string structure_;
  std::string policy_;
  std::shared_ptr<const oracle> checker_;
  std::size_t memory_bytes_;
};

}  // namespace outlast::verify
