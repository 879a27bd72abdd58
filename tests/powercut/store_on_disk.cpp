#include <tests/powercut/disk_subjects.hpp>

#include <outlast/verify/checkers/store_oracle.hpp>
#include <outlast/verify/checkers/transaction_oracle.hpp>
#include <outlast/verify/machine/lossy_file.hpp>
#include <tests/catalogue/store_in_pool.hpp>
#include <tests/powercut/epochs_on_disk.hpp>
#include <tests/powercut/map_on_disk.hpp>
#include <tests/powercut/records_on_disk.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace outlast::test::powercut {
namespace {

using store = verify::detail::store_in_pool<domain::lossy_logged_file>;
using store_world = verify::detail::store_world<store>;
constexpr std::size_t pool_bytes = std::size_t{128} << 10;

const store_world::own_blocks& no_blocks() {
  static const store_world::own_blocks none;
  return none;
}

/// Each change waits for the disk, though there is a window.
class synced_store final : public file_subject {
 public:
  [[nodiscard]] const verify::oracle& checker() const override { return checker_; }
  void create(const std::string& path) override {
    create_on_disk<store::pool_type>(path, options_on_disk(pool_bytes));
  }
  [[nodiscard]] std::unique_ptr<verify::world> open(const std::string& path, bool grow) override {
    const auto make = [](auto& pool) {
      return std::make_unique<store>(pool, "subject", std::chrono::hours(1), true);
    };
    return std::make_unique<store_world>(
        open_on_disk<store::pool_type>(path, options_on_disk(pool_bytes), grow), make, no_blocks());
  }

 private:
  // Reads immediately see changes that wait for the disk.
  verify::transaction_oracle checker_{std::make_shared<verify::store_oracle>(),
                                      verify::reader_promise::may_see_the_lost};
};

/// Nobody waits but who calls sync().
std::unique_ptr<file_subject> buffered_store() {
  // An opening makes transitions of its own, when it closes what snapshots were open.
  constexpr verify::checker_rules rules{.keeps_boundary = false};
  return std::make_unique<epochs_on_disk<store>>(
      pool_bytes, std::make_shared<verify::store_oracle>(),
      [](auto pool) {
        const auto make = [](auto& in) {
          auto made = std::make_unique<store>(in, "subject", std::chrono::hours(1), false);
          made->manager().sync();
          return made;
        };
        return std::make_unique<world_of_windows<store_world>>(std::move(pool), make, no_blocks());
      },
      epochs_on_disk<store>::any_number_lost, rules);
}

using record_engine = verify::detail::small_record_engine<domain::lossy_file, false, false,
                                                          verify::detail::small_marked_shape>;
using cleaned_engine = verify::detail::small_record_engine<domain::lossy_file, false, true,
                                                           verify::detail::small_marked_shape>;

using tended_engine =
    verify::detail::small_record_engine<domain::lossy_file, false, false, tended_shape>;

template <class Engine, bool Syncs, bool Dies = false>
[[nodiscard]] file_definition records_on_disk(const std::string& name) {
  return {name, "records",
          [] { return std::make_unique<store_of_records<Engine, Syncs, Dies>>(); }};
}

}  // namespace

std::vector<file_definition> stores_on_disk() {
  const std::string policy = store::policy_type::name();
  return {{"store_synced", policy, [] { return std::make_unique<synced_store>(); }},
          {"store_window", policy, [] { return buffered_store(); }},
          records_on_disk<record_engine, true>("store_of_records_synced"),
          records_on_disk<record_engine, false>("store_of_records_window"),
          records_on_disk<cleaned_engine, true>("store_of_records_cleaned_synced"),
          records_on_disk<cleaned_engine, false>("store_of_records_cleaned_window"),
          records_on_disk<tended_engine, true, true>("store_of_records_lives_synced"),
          records_on_disk<tended_engine, false, true>("store_of_records_lives_window"),
          records_on_disk<cleaned_engine, true, true>("store_of_records_cleaned_lives_synced"),
          records_on_disk<cleaned_engine, false, true>("store_of_records_cleaned_lives_window")};
}

}  // namespace outlast::test::powercut
