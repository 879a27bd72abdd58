// Atomic variables in bare memory, each a durable cell, for the verifier.
#pragma once

#include <outlast/domain/persist.hpp>
#include <outlast/pool/replica_pair.hpp>
#include <outlast/verify/checkers/bank_oracle.hpp>
#include <outlast/verify/explorer/subject.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace outlast::test {

/// `Cell` is a cell of 64-bit numbers in two replicas, or anything with its interface. All begin
/// with 0.
template <class Cell, unsigned Count>
class bank final : public verify::world {
  using D = domain::simulated;

 public:
  bank(std::span<std::byte> memory, bool fresh) : used_(memory.size()) {
    D::open_shadow(reinterpret_cast<std::uintptr_t>(memory.data()), memory.size());
    auto* const stored = reinterpret_cast<Cell*>(memory.data());
    cells_ = shadow_of<D>(stored);
    for (unsigned i = 0; i < Count; ++i) {
      if (fresh) {
        ::new (&cells_[i]) Cell(0);
      } else {
        cells_[i].recover();
      }
    }
    // Fresh, or left in the caches by a process that was killed.
    domain::persist<D>(stored, Count * sizeof(Cell));
  }
  ~bank() override { D::close_shadow(used_); }
  bank(const bank&) = delete;
  bank& operator=(const bank&) = delete;

  verify::outcome apply(const verify::call& what) override {
    Cell& cell = cells_[what.key];
    switch (static_cast<verify::bank_operation>(what.kind)) {
      case verify::bank_operation::load: return {true, cell.load()};
      case verify::bank_operation::store: cell.store(what.argument); return {true, 0};
      case verify::bank_operation::exchange: return {true, cell.exchange(what.argument)};
      case verify::bank_operation::fetch_add: return {true, cell.fetch_add(what.argument)};
      case verify::bank_operation::compare_exchange: break;
    }
    std::uint64_t seen = verify::expected_of(what.argument);
    const bool exchanged = cell.compare_exchange(seen, verify::desired_of(what.argument));
    return {exchanged, seen};
  }

  verify::abstract_state observe() override {
    verify::abstract_state values;
    for (unsigned i = 0; i < Count; ++i) {
      if (const std::uint64_t value = cells_[i].load()) values.insert(values.end(), {i, value});
    }
    return values;
  }

 private:
  std::size_t used_;
  Cell* cells_;  // where they are seen
};

}  // namespace outlast::test
