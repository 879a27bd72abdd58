// A set of keys without a pool, to test the engine by itself.
#pragma once

#include <bench/adapters/registration.hpp>
#include <bench/engine/subject.hpp>
#include <outlast/domain/adr.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/domain/process.hpp>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <vector>

namespace outlast::test {

/// One flag per key; each successful update persists it: one flush and one fence over a domain that
/// flushes.
template <class Domain>
class fake_set {
 public:
  explicit fake_set(const bench::subject_options& options) : present_(options.mix.range()) {}

  bool insert(std::uint64_t key) { return change(key, 0, 1); }
  bool erase(std::uint64_t key) { return change(key, 1, 0); }
  bool contains(std::uint64_t key) const { return present_[key].load() != 0; }
  std::uint64_t count() const {
    return std::accumulate(present_.begin(), present_.end(), std::uint64_t{0});
  }

 private:
  bool change(std::uint64_t key, int from, int to) {
    if (!present_[key].compare_exchange_strong(from, to)) return false;
    domain::persist<Domain>(&present_[key], sizeof present_[key]);
    return true;
  }

  std::vector<std::atomic<int>> present_;
};

/// Reports inserts that it does not do.
template <class Domain>
class forgetful_set : public fake_set<Domain> {
 public:
  using fake_set<Domain>::fake_set;
  bool insert(std::uint64_t key) {
    if (key % 4 == 0) return true;
    return fake_set<Domain>::insert(key);
  }
};

/// Reports erases that it does not do.
template <class Domain>
class clinging_set : public fake_set<Domain> {
 public:
  using fake_set<Domain>::fake_set;
  bool erase(std::uint64_t key) { return this->contains(key); }
};

[[nodiscard]] inline bench::registry fake_registry() {
  bench::registry known;
  known.add(
      bench::make_registration<fake_set, domain::process>({"fake_set", "transient", "process"}));
  known.add(bench::make_registration<fake_set, domain::process>(
      {"fake_set", "flit<adjacent,automatic>", "process"}));
  known.add(bench::make_registration<fake_set, domain::adr>(
      {"fake_set", "flit<adjacent,automatic>", "adr"}));
  known.add(bench::make_registration<clinging_set, domain::process>(
      {"clinging_set", "transient", "process"}));
  return known;
}

/// A twin and a subject; adds to `built` whenever one is made.
[[nodiscard]] inline bench::registry counted_registry(unsigned& built) {
  const auto make = [&built](const bench::subject_options& options) {
    ++built;
    return bench::make_subject<fake_set<domain::process>>(options);
  };
  bench::registry known;
  known.add({{"counted_set", "transient", "process"}, make, {}});
  known.add({{"counted_set", "flit<adjacent,automatic>", "adr"}, make, make});
  return known;
}

}  // namespace outlast::test
