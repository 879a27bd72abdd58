// Goal: structures in pool files lose no acknowledged operation when power is cut, and each kind of
// loss is detected.
// Method: see power_cuts.hpp. The broken ones are a disk that drops synced pages, a policy without
// completion fence, and a close whose clean mark is durable before the data.
#include <outlast/base/cache_line.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/harris_list.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <outlast/verify/machine/eager_epochs.hpp>
#include <outlast/verify/machine/lossy_file.hpp>
#include <tests/powercut/disk_subjects.hpp>
#include <tests/powercut/epochs_on_disk.hpp>
#include <tests/powercut/map_on_disk.hpp>
#include <tests/support/sanitizer.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::test::powercut {
namespace {

const file_definition& subject_called(const std::string& structure) {
  static const std::vector<file_definition> all = disk_subjects();
  for (const file_definition& each : all) {
    if (each.structure == structure) return each;
  }
  throw std::invalid_argument("no subject is called " + structure);
}

cut_result cut(const std::string& structure, const cut_plan& how) {
  return cut_power_again_and_again(*subject_called(structure).make(), how);
}

/// Recoveries take ten times as long under a sanitizer, which looks for other things; and without
/// optimization.
#if defined(__OPTIMIZE__)
constexpr std::uint64_t images = under_address_sanitizer ? 1'000 : 4'000;
#else
constexpr std::uint64_t images = 1'000;
#endif
/// For what is to be found out, which ends it.
constexpr std::uint64_t enough_images = 4'000;

void expect_nothing_lost(const std::string& structure) {
  const cut_result outcome = cut(structure, {.seed = 1, .images = images});
  EXPECT_EQ(outcome.complaint, "");
  EXPECT_GE(outcome.images, images);
  EXPECT_GT(outcome.nested, images / 20) << "hardly any recovery was cut off";
  EXPECT_GT(outcome.acknowledged, 0U);
}

TEST(PowerCut, a_list_loses_nothing) { expect_nothing_lost("harris_list"); }
TEST(PowerCut, a_list_of_wide_values_loses_nothing) { expect_nothing_lost("harris_list_wide"); }
TEST(PowerCut, a_growing_table_loses_nothing) { expect_nothing_lost("hash_table"); }
TEST(PowerCut, a_growing_set_loses_nothing) { expect_nothing_lost("hash_table_set"); }
TEST(PowerCut, a_list_that_persists_what_it_must_loses_nothing) {
  expect_nothing_lost("harris_list_manual");
}
TEST(PowerCut, a_table_that_persists_where_it_arrives_loses_nothing) {
  expect_nothing_lost("hash_table_nvtraverse");
}

TEST(PowerCut, a_growing_table_in_two_replicas_loses_nothing) {
  expect_nothing_lost("hash_table_mirror");
}
TEST(PowerCut, a_link_free_list_loses_nothing) { expect_nothing_lost("link_free_list"); }
TEST(PowerCut, a_link_free_table_loses_nothing) { expect_nothing_lost("link_free_hash"); }
TEST(PowerCut, a_soft_list_loses_nothing) { expect_nothing_lost("soft_in_place_list"); }
TEST(PowerCut, a_soft_table_loses_nothing) { expect_nothing_lost("soft_hash"); }
TEST(PowerCut, a_tree_of_wide_values_that_persists_what_it_must_loses_nothing) {
  expect_nothing_lost("natarajan_tree_manual");
}

TEST(PowerCut, a_store_behind_a_log_loses_nothing_that_was_synced) {
  expect_nothing_lost("store_synced");
}
TEST(PowerCut, a_store_with_a_window_loses_nothing_but_an_end) {
  expect_nothing_lost("store_window");
}
TEST(PowerCut, a_store_of_records_loses_nothing_that_was_synced) {
  expect_nothing_lost("store_of_records_synced");
}
TEST(PowerCut, a_store_of_records_with_a_window_loses_nothing_but_an_end) {
  expect_nothing_lost("store_of_records_window");
}
/// Replays: the zeros of new blocks were not synced, and a sync did not cover a write that another
/// thread had seen and whose own thread had not returned.
TEST(PowerCut, new_blocks_of_records_are_never_taken_for_segments) {
  EXPECT_EQ(cut("store_of_records_synced", {.seed = 9, .images = 100}).complaint, "");
}
TEST(PowerCut, a_sync_covers_what_its_thread_has_seen) {
  EXPECT_EQ(cut("store_of_records_window", {.seed = 14, .images = 950}).complaint, "");
}
TEST(PowerCut, a_store_of_records_that_is_cleaned_loses_nothing_but_an_end) {
  expect_nothing_lost("store_of_records_cleaned_window");
}

TEST(PowerCut, a_store_of_records_whose_processes_die_loses_nothing_that_was_synced) {
  expect_nothing_lost("store_of_records_lives_synced");
}
TEST(PowerCut, a_store_of_records_whose_processes_die_loses_nothing_but_an_end) {
  expect_nothing_lost("store_of_records_lives_window");
}
TEST(PowerCut, a_cleaned_store_whose_processes_die_loses_nothing_but_an_end) {
  expect_nothing_lost("store_of_records_cleaned_lives_window");
}

TEST(PowerCut, a_growing_table_behind_a_log_loses_nothing) {
  expect_nothing_lost("hash_table_logged");
}
TEST(PowerCut, a_link_free_table_behind_a_log_loses_nothing) {
  expect_nothing_lost("link_free_hash_logged");
}
TEST(PowerCut, a_buffered_map_loses_its_last_epochs_alone) {
  expect_nothing_lost("epoch_hash_map");
}
TEST(PowerCut, a_lock_free_buffered_map_loses_its_last_epochs_alone) {
  expect_nothing_lost("epoch_lockfree_map");
}
TEST(PowerCut, a_buffered_queue_loses_its_last_epochs_alone) { expect_nothing_lost("epoch_queue"); }
TEST(PowerCut, a_buffered_map_behind_a_log_loses_its_last_epochs_alone) {
  expect_nothing_lost("epoch_hash_map_logged");
}
TEST(PowerCut, a_lock_free_buffered_map_behind_a_log_loses_its_last_epochs_alone) {
  expect_nothing_lost("epoch_lockfree_map_logged");
}
TEST(PowerCut, a_buffered_queue_behind_a_log_loses_its_last_epochs_alone) {
  expect_nothing_lost("epoch_queue_logged");
}
TEST(PowerCut, a_buffered_queue_of_one_lock_loses_its_last_epochs_alone) {
  expect_nothing_lost("epoch_one_lock_queue");
}
TEST(PowerCut, a_buffered_queue_of_one_lock_behind_a_log_loses_its_last_epochs_alone) {
  expect_nothing_lost("epoch_one_lock_queue_logged");
}

TEST(PowerCut, transactions_of_two_replicas_behind_a_log_lose_nothing) {
  expect_nothing_lost("tx_left_right_logged");
}
TEST(PowerCut, transactions_with_many_replicas_behind_a_log_lose_nothing) {
  expect_nothing_lost("tx_redo_logged");
}
TEST(PowerCut, transactions_that_are_combined_behind_a_log_lose_nothing) {
  expect_nothing_lost("tx_redo_opt_logged");
}
TEST(PowerCut, transactions_that_run_in_each_replica_behind_a_log_lose_nothing) {
  expect_nothing_lost("tx_cx_ptm_logged");
}
TEST(PowerCut, a_standard_map_behind_a_log_loses_nothing) {
  expect_nothing_lost("tx_cx_puc_logged");
}
TEST(PowerCut, transactions_in_a_file_lose_nothing) { expect_nothing_lost("tx_redo_opt"); }

TEST(PowerCut, the_same_seed_does_the_same) {
  const cut_result once = cut("hash_table", {.seed = 7, .images = 300});
  const cut_result again = cut("hash_table", {.seed = 7, .images = 300});
  EXPECT_EQ(once.fences, again.fences);
  EXPECT_EQ(once.images, again.images);
  EXPECT_EQ(once.incarnations, again.incarnations);
}

TEST(PowerCut, a_disk_that_drops_synced_pages_is_found_out) {
  const verify::disk_faults drops{.drops_one_page_in = 20};
  EXPECT_NE(cut("harris_list", {.seed = 1, .images = enough_images, .faults = drops}).complaint,
            "");
  EXPECT_NE(cut("hash_table", {.seed = 1, .images = enough_images, .faults = drops}).complaint, "");
}

TEST(PowerCut, a_disk_that_skips_syncs_of_a_log_is_found_out) {
  const verify::disk_faults skips{.skips_one_log_sync_in = 20};
  for (const char* const structure : {"link_free_hash_logged", "epoch_hash_map_logged"}) {
    EXPECT_NE(cut(structure, {.seed = 1, .images = enough_images, .faults = skips}).complaint, "");
  }
}

TEST(PowerCut, a_disk_that_forgets_checkpoints_is_found_out) {
  const verify::disk_faults forgets{.forgets_pages_in_place = true};
  for (const char* const structure : {"link_free_hash_logged", "epoch_queue_logged"}) {
    EXPECT_NE(cut(structure, {.seed = 1, .images = enough_images, .faults = forgets}).complaint,
              "");
  }
}

TEST(PowerCut, a_close_whose_mark_overtakes_the_data_is_found_out) {
  EXPECT_NE(
      cut("harris_list", {.seed = 1, .images = enough_images, .closes_mark_first = true}).complaint,
      "");
  EXPECT_NE(
      cut("hash_table", {.seed = 1, .images = enough_images, .closes_mark_first = true}).complaint,
      "");
}

/// lossy_file, but for the fences that are to be left out.
struct hasty_file : domain::lossy_file {
  static constexpr std::string_view name() noexcept { return "hasty_file"; }
  static void pfence(domain::site where = domain::site::current()) {
    if (!std::exchange(skip_next, false)) domain::lossy_file::pfence(where);
  }
  static inline bool skip_next = false;
};

/// Does not wait, at its end, for what it depends on.
template <class Reclaimer>
class hasty_operation : public durable::operation<hasty_file, hasty_file, Reclaimer> {
 public:
  using durable::operation<hasty_file, hasty_file, Reclaimer>::operation;
  ~hasty_operation() noexcept(false) { hasty_file::skip_next = true; }
};

struct hasty_flit : durable::flit<durable::tag::adjacent, durable::automatic, hasty_file> {
  template <class Reclaimer>
  using operation = hasty_operation<Reclaimer>;
};

TEST(PowerCut, a_policy_without_completion_fence_is_found_out) {
  using structure = lockfree::harris_list<std::uint64_t, std::uint64_t, hasty_flit,
                                          std::less<std::uint64_t>, verify::eager_epochs>;
  map_on_disk<structure> hasty({.blocks = [](structure&) { return std::size_t{1}; }});
  // It takes a reader between a store and its fence: many meetings on few keys.
  const cut_plan meetings{.seed = 1, .images = 5 * enough_images, .operations = 10, .keys = 2};
  const cut_result outcome = cut_power_again_and_again(hasty, meetings);
  EXPECT_NE(outcome.complaint, "");
}

using tree_of_transactions = containers::red_black_tree<std::uint64_t, std::uint64_t>;

/// Replicas that are small enough for images of them to be copied.
template <class Engine>
cut_result cut_transactions() {
  using structure = containers::managed_map<Engine, tree_of_transactions>;
  typename map_on_disk<structure>::parts how;
  how.memory_bytes = std::size_t{128} << 10;
  how.make = [](auto& pool) {
    return std::make_unique<structure>(
        pool, "subject",
        tx::options{.replica_bytes = std::size_t{12} << 10, .page_bytes = 256, .replicas = 3});
  };
  how.blocks = [](structure&) { return std::size_t{1}; };
  map_on_disk<structure> subject(std::move(how));
  return cut_power_again_and_again(subject, {.seed = 1, .images = enough_images});
}

/// Staged lines do not wait for a thread that publishes.
struct forgetful_log : domain::lossy_logged_file {
  static constexpr std::string_view name() noexcept { return "forgetful_log"; }
  static void stage(domain::site = domain::site::current()) {}
};
TEST(PowerCut, a_log_whose_word_leaves_its_lines_behind_is_found_out) {
  EXPECT_EQ(cut_transactions<tx::left_right<domain::lossy_logged_file>>().complaint, "");
  EXPECT_NE(cut_transactions<tx::left_right<forgetful_log>>().complaint, "");
}

/// A word has its value, and lines their content, before their batch is on its way.
struct early_log : domain::lossy_logged_file {
  static constexpr std::string_view name() noexcept { return "early_log"; }
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      domain::site = domain::site::current()) {
    publish(word, value, {});
  }
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      std::span<const domain::line_store> lines,
                      domain::site = domain::site::current()) {
    for (const domain::line_store& each : lines) {
      std::memcpy(each.line, each.content, base::cache_line_size);
    }
    word.store(value, std::memory_order_release);
  }
};
TEST(PowerCut, a_log_that_publishes_without_waiting_is_found_out) {
  EXPECT_NE(cut_transactions<tx::left_right<early_log>>().complaint, "");
  EXPECT_EQ(cut_transactions<tx::redo_opt<domain::lossy_logged_file>>().complaint, "");
  EXPECT_NE(cut_transactions<tx::redo_opt<early_log>>().complaint, "");
}

template <class D>
cut_result cut_windows() {
  using structure = containers::managed_map<tx::redo_opt<D>, tree_of_transactions>;
  return cut_power_again_and_again(*windows_on_disk<structure>(std::size_t{128} << 10, 3),
                                   {.seed = 1, .images = enough_images});
}

/// The kernel has the records of transitions, and keeps them.
struct unsynced_records : domain::lossy_logged_file {
  static constexpr std::string_view name() noexcept { return "unsynced_records"; }
  static void sync_through(const void*, domain::site = domain::site::current()) {}
};
/// Now and then a word of them is lost on the way.
struct holey_records : domain::lossy_logged_file {
  static constexpr std::string_view name() noexcept { return "holey_records"; }
  static void write_through(std::byte* to, const void* from, std::size_t bytes) {
    static std::uint64_t calls = 0;
    if (++calls % 1024 != 0) domain::lossy_logged_file::write_through(to, from, bytes);
  }
};
/// The base image advances, and nothing records where its records begin.
struct records_without_start : domain::lossy_logged_file {
  static constexpr std::string_view name() noexcept { return "records_without_start"; }
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      std::span<const domain::line_store> lines,
                      domain::site = domain::site::current()) {
    domain::lossy_logged_file::publish(word, value,
                                       lines.first(lines.size() - (lines.empty() ? 0 : 1)));
  }
};
TEST(PowerCut, records_of_transitions_that_are_not_kept_are_found_out) {
  EXPECT_EQ(cut_windows<domain::lossy_logged_file>().complaint, "");
  EXPECT_NE(cut_windows<unsynced_records>().complaint, "");
  EXPECT_NE(cut_windows<holey_records>().complaint, "");
  EXPECT_NE(cut_windows<records_without_start>().complaint, "");
}

TEST(PowerCut, transactions_with_a_window_lose_what_was_not_synced_alone) {
  expect_nothing_lost("tx_redo_opt_window");
  expect_nothing_lost("tx_redo_window");
}

}  // namespace
}  // namespace outlast::test::powercut
