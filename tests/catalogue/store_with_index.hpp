// Stores of records whose index outlives their process, as scenarios see them.
#pragma once

#include <tests/catalogue/store_in_pool.hpp>
#include <tests/support/memory_region.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace outlast::verify::detail {

/// A store whose index a kill leaves and a crash of the machine clears.
template <class Store>
class kept_store_subject final : public structure_subject<Store> {
  using region = store_detail::records::memory_region;
  struct shared_state {
    std::uint64_t openings = 0;
    std::uint64_t reopened = 0;
  };

 public:
  explicit kept_store_subject(std::string name,
                              std::size_t memory_bytes = structure_parts<Store>().memory_bytes)
      : kept_store_subject(std::move(name), memory_bytes, std::make_shared<region>(),
                           std::make_shared<shared_state>()) {}

  [[nodiscard]] const oracle& checker() const override { return checker_; }
  [[nodiscard]] std::span<std::byte> kept_by_kills() const override {
    return {region_->first(), region_->provided()};
  }
  [[nodiscard]] std::unique_ptr<world> open(std::span<std::byte> memory, bool fresh) override {
    const auto& how = this->how();
    return std::make_unique<store_world<Store>>(memory, fresh, how.make, how.blocks);
  }

  [[nodiscard]] std::uint64_t openings() const noexcept { return state_->openings; }
  /// Returns the number of openings that have used an index that was there.
  [[nodiscard]] std::uint64_t reopened() const noexcept { return state_->reopened; }

 private:
  kept_store_subject(std::string name, std::size_t memory_bytes, const std::shared_ptr<region>& in,
                     const std::shared_ptr<shared_state>& state)
      : structure_subject<Store>(std::move(name), {.make =
                                                       [in, state](auto& pool) {
                                                         auto made = std::make_unique<Store>(
                                                             pool, "subject",
                                                             std::chrono::microseconds(), true,
                                                             false, nullptr, in);
                                                         ++state->openings;
                                                         if (made->core().records().has_reopened())
                                                           ++state->reopened;
                                                         return made;
                                                       },
                                                   .blocks = {},
                                                   .memory_bytes = memory_bytes}),
        region_(in),
        state_(state) {}

  std::shared_ptr<region> region_;
  std::shared_ptr<shared_state> state_;
  store_oracle checker_;
};

}  // namespace outlast::verify::detail
