// Stores of records in pool files under power cuts.
#pragma once

#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/verify/checkers/buffered_oracle.hpp>
#include <outlast/verify/checkers/store_oracle.hpp>
#include <outlast/verify/checkers/transaction_oracle.hpp>
#include <outlast/verify/machine/lossy_file.hpp>
#include <tests/catalogue/store_in_pool.hpp>
#include <tests/catalogue/store_with_marks.hpp>
#include <tests/powercut/map_on_disk.hpp>
#include <tests/powercut/power_cuts.hpp>
#include <tests/powercut/store_lives.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

namespace outlast::test::powercut {

inline constexpr std::size_t records_pool_bytes = std::size_t{128} << 10;

/// Tombstones go early, although segments that have been cleaned hide them.
struct tended_shape : verify::detail::small_marked_shape {
  static constexpr std::int64_t few_tombstones = 1;
};

/// `Tends`: each thread does after its operations what the cleaner's thread does, so that segments
/// have been cleaned that have not ended.
template <class Records, bool Tends>
class records_world : public verify::detail::store_world<Records> {
 public:
  using verify::detail::store_world<Records>::store_world;

  verify::outcome apply(const verify::call& what) override {
    const verify::outcome result = verify::detail::store_world<Records>::apply(what);
    if constexpr (Tends)
      static_cast<void>(
          core().clean_if_useful(verify::detail::small_marked_shape::max_segment_bytes));
    return result;
  }
  [[nodiscard]] bool index_was_kept() { return core().has_reopened(); }

 private:
  [[nodiscard]] auto& core() { return this->structure_->core().records(); }
};

/// A store of records. Each opening is one of another boot: the machine has crashed.
/// `Syncs`: each change waits for the disk. `Dies`: processes die, and leave their index.
template <class Engine, bool Syncs, bool Dies>
class store_of_records final : public file_subject {
  using records = verify::detail::store_in_pool<domain::lossy_file, Engine>;
  using plain_world = records_world<records, Dies && !Engine::cleans>;
  using marked_world = verify::detail::world_of_marks<plain_world, false>;
  using world_type = std::conditional_t<Syncs, plain_world, marked_world>;
  using index = std::shared_ptr<store_detail::records::kept_region>;
  using meaning = verify::store_oracle;

 public:
  [[nodiscard]] const verify::oracle& checker() const override {
    if constexpr (Syncs) return synced_;
    return buffered_;
  }
  void create(const std::string& path) override {
    create_on_disk<typename records::pool_type>(path, options_on_disk(records_pool_bytes));
  }
  [[nodiscard]] std::unique_ptr<verify::world> open(const std::string& path, bool grow) override {
    ++boots_;
    pool_format::boot_id& boot = pool_detail::test_hooks().boot.emplace();
    std::memcpy(boot.data(), &boots_, sizeof boots_);
    if constexpr (!Dies) return open_with(path, grow, nullptr);
    return std::make_unique<world_of_lives<world_type>>(
        [=](const index& kept) { return open_with(path, grow, kept); });
  }

 private:
  static std::unique_ptr<world_type> open_with(const std::string& path, bool grow,
                                               const index& kept) {
    const auto make = [&](auto& pool) {
      return std::make_unique<records>(pool, "subject", std::chrono::hours(1), Syncs, false,
                                       nullptr, kept);
    };
    static const typename world_type::own_blocks not_examined;
    return std::make_unique<world_type>(
        open_on_disk<typename records::pool_type>(path, options_on_disk(records_pool_bytes), grow),
        make, not_examined);
  }

  std::uint64_t boots_ = 1;
  // Reads immediately see changes that wait for the disk.
  verify::transaction_oracle synced_{std::make_shared<meaning>(),
                                     verify::reader_promise::may_see_the_lost};
  verify::buffered_oracle buffered_{std::make_shared<meaning>(),
                                    verify::detail::any_number_of_marks_lost};
};

}  // namespace outlast::test::powercut
