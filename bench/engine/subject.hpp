// What is measured: one structure in one pool under one policy, behind three virtual functions, of
// which the hot one is called once per batch.
#pragma once

#include <bench/engine/distribution.hpp>
#include <bench/engine/random.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

namespace outlast::bench {

/// What a thread does: `update_percent` of its operations are updates, half of them inserts and
/// half erases; the rest are lookups. Keys come from a range of twice the size that the structure
/// was filled to, so that it stays near that size.
struct workload {
  std::uint64_t size = 0;
  double update_percent = 0;
  key_distribution distribution;

  [[nodiscard]] std::uint64_t range() const noexcept { return 2 * size; }
};

/// One thread's random numbers and counts. Aligned so that threads share no line.
struct alignas(128) worker {
  explicit worker(std::uint64_t seed) noexcept : random(seed) {}

  xoshiro256 random;
  std::uint64_t operations = 0;
  std::uint64_t inserted = 0;  ///< successful inserts
  std::uint64_t erased = 0;    ///< successful erases
  std::uint64_t found = 0;     ///< successful lookups
};

/// A structure being measured. `run` may be called by several threads at once, each with a worker
/// of its own; the other members while no `run` is in progress.
class subject {
 public:
  subject() = default;
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;
  virtual ~subject() = default;

  /// True if `key` was absent.
  virtual bool insert(std::uint64_t key) = 0;
  virtual bool contains(std::uint64_t key) = 0;
  /// `operations` operations of the workload that the subject was made for.
  virtual void run(worker& self, std::uint32_t operations) = 0;
  /// The keys it holds, counted one by one.
  [[nodiscard]] virtual std::uint64_t count() = 0;
};

/// What a factory needs to know.
struct subject_options {
  workload mix;
  std::filesystem::path pool_directory;
};

/// What an adapter offers: a set of 64-bit keys, and the operations of the workload.
template <class S>
concept measurable_set = requires(S& set, std::uint64_t key) {
  { set.insert(key) } -> std::same_as<bool>;
  { set.erase(key) } -> std::same_as<bool>;
  { set.contains(key) } -> std::same_as<bool>;
  { set.count() } -> std::same_as<std::uint64_t>;
};

/// Runs the workload on a `Set`, everything but `run` itself inlined.
template <measurable_set Set>
class set_subject final : public subject {
 public:
  explicit set_subject(const subject_options& options)
      : set_(options),
        uniform_(options.mix.range()),
        zipf_(options.mix.range(), std::max(options.mix.distribution.theta, smallest_theta)),
        is_uniform_(options.mix.distribution.is_uniform()),
        updates_(static_cast<std::uint64_t>(options.mix.update_percent / 100 * 0x1p32)) {}

  bool insert(std::uint64_t key) override { return set_.insert(key); }
  bool contains(std::uint64_t key) override { return set_.contains(key); }
  std::uint64_t count() override { return set_.count(); }

  void run(worker& self, std::uint32_t operations) override {
    if (is_uniform_) {
      run_with(uniform_, self, operations);
    } else {
      run_with(zipf_, self, operations);
    }
  }

 private:
  static constexpr double smallest_theta = 1e-3;

  template <class Keys>
  void run_with(const Keys& keys, worker& shared, std::uint32_t operations) {
    worker self = shared;  // in registers while the batch runs
    for (std::uint32_t i = 0; i < operations; ++i) step(keys, self);
    self.operations += operations;
    shared = self;
  }

  template <class Keys>
  void step(const Keys& keys, worker& self) {
    const std::uint64_t key = keys(self.random);
    const std::uint64_t choice = self.random() >> 32;
    if (choice >= updates_) {
      self.found += set_.contains(key) ? 1 : 0;
    } else if (choice % 2 == 0) {
      self.inserted += set_.insert(key) ? 1 : 0;
    } else {
      self.erased += set_.erase(key) ? 1 : 0;
    }
  }

  Set set_;
  uniform_keys uniform_;
  zipf_keys zipf_;
  bool is_uniform_;
  std::uint64_t updates_;  ///< share of updates, in 2^-32
};

}  // namespace outlast::bench
