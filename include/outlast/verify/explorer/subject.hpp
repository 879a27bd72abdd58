// What is verified: something that opens in a piece of memory, does operations, and can be opened
// again on what a crash left.
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

/// A subject in operation: its volatile half. Destroying it writes nothing persistent.
class world {
 public:
  virtual ~world() = default;
  /// Does one operation; called by the machine's threads.
  virtual outcome apply(const call& what) = 0;
  /// Reads everything.
  virtual abstract_state observe() = 0;
  /// Examines what the oracle cannot see (allocator, pool). Empty, or what is wrong. Directly after
  /// opening, nothing may be in use but what is reachable.
  virtual std::string check(bool directly_after_opening) {
    static_cast<void>(directly_after_opening);
    return {};
  }
  /// Examines what is at risk at a point where a crash may come: what the protocol promises of the
  /// media, whatever survives. Empty, or what is wrong.
  [[nodiscard]] virtual std::string check_risks(const memory& media) const {
    static_cast<void>(media);
    return {};
  }
  /// Ends in good order: the next `open` finds a clean memory.
  virtual void close() {}
};

/// Thread-safety: used by one thread.
class subject {
 public:
  virtual ~subject() = default;
  /// For people: structure and policy.
  [[nodiscard]] virtual std::string structure() const = 0;
  [[nodiscard]] virtual std::string policy() const = 0;
  [[nodiscard]] virtual const oracle& checker() const = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const { return std::size_t{1} << 20; }
  /// Volatile memory outside the world that a crash clears: tables of flit-counters.
  [[nodiscard]] virtual std::span<std::byte> volatile_globals() const { return {}; }
  /// Whether there is anything in `memory` that `open(memory, false)` opens. A subject that can
  /// tell is given memory full of 0xDB where others get zeros, and power is cut also while
  /// `open(memory, true)` formats it: what is not there yet is then formatted again.
  [[nodiscard]] virtual std::optional<bool> exists(std::span<const std::byte> memory) const {
    static_cast<void>(memory);
    return std::nullopt;
  }
  /// Prepares fresh memory so that the subject may be created in it by `open(memory, false)`:
  /// under crash points, as everything else. What `open` creates is empty.
  virtual void format(std::span<std::byte> memory) { static_cast<void>(open(memory, true)); }
  /// Opens the subject in `memory`, creating it if `fresh`; else recovers what is there. Fresh
  /// memory is zeroed, unless `exists()` can tell.
  /// Recovery may be cut off at any fence and begun again.
  [[nodiscard]] virtual std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) = 0;
};

/// A subject that needs bare memory only: `World(memory, fresh)`.
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
