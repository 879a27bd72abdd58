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
#include <optional>
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
  /// From now on `run` works on `mix`, which is of the size that the subject was made for.
  virtual void use(const workload& mix) = 0;
  /// The keys it holds, counted one by one.
  [[nodiscard]] virtual std::uint64_t count() = 0;
  /// What it occupies of its pool, in whole pages of all replicas; nothing if nobody knows.
  [[nodiscard]] virtual std::optional<std::uint64_t> bytes() = 0;
};

/// What a factory needs to know.
struct subject_options {
  workload mix;
  std::filesystem::path pool_directory;
  bool shadow_on_media = false;  ///< as in pool_options
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
  explicit set_subject(const subject_options& options) : set_(options), keys_(options.mix) {}

  bool insert(std::uint64_t key) override { return set_.insert(key); }
  bool contains(std::uint64_t key) override { return set_.contains(key); }
  void use(const workload& mix) override { keys_ = chosen_keys(mix); }
  std::uint64_t count() override { return set_.count(); }
  std::optional<std::uint64_t> bytes() override {
    if constexpr (requires { set_.bytes(); }) {
      return set_.bytes();
    } else {
      return std::nullopt;
    }
  }

  void run(worker& self, std::uint32_t operations) override {
    if (keys_.is_uniform) {
      run_with(keys_.uniform, self, operations);
    } else {
      run_with(keys_.zipf, self, operations);
    }
  }

 private:
  static constexpr double smallest_theta = 1e-3;

  /// What a workload draws.
  struct chosen_keys {
    explicit chosen_keys(const workload& mix)
        : uniform(mix.range()),
          zipf(mix.range(), std::max(mix.distribution.theta, smallest_theta)),
          is_uniform(mix.distribution.is_uniform()),
          updates(static_cast<std::uint64_t>(mix.update_percent / 100 * 0x1p32)) {}

    uniform_keys uniform;
    zipf_keys zipf;
    bool is_uniform;
    std::uint64_t updates;  ///< their share, in 2^-32
  };

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
    if (choice >= keys_.updates) {
      self.found += set_.contains(key) ? 1 : 0;
    } else if (choice % 2 == 0) {
      self.inserted += set_.insert(key) ? 1 : 0;
    } else {
      self.erased += set_.erase(key) ? 1 : 0;
    }
  }

  Set set_;
  chosen_keys keys_;
};

}  // namespace outlast::bench
