// Goal: defects that a corrupted pool file once showed stay repaired. Method: each defect that the
// fuzzer found, as the smallest damage that shows it. The checksums are correct, so only the check
// in question can reject the file.
#include <outlast/pool/check.hpp>
#include <outlast/pool/pages/page_line.hpp>
#include <tests/fuzz/exercise.hpp>
#include <tests/fuzz/recipe.hpp>
#include <tests/fuzz/seeds.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace outlast::fuzz {
namespace {

using namespace pool_format;

const seed& seed_named(std::string_view name) {
  return *std::find_if(seeds().begin(), seeds().end(),
                       [&](const seed& each) { return each.name == name; });
}

/// Damage of one seed, by offsets in it.
class damage {
 public:
  explicit damage(std::string_view name) : seed_(seed_named(name)) {
    input_.seed = static_cast<std::size_t>(&seed_ - seeds().data());
    input_.seal = true;
    input_.recover = true;
  }

  damage& set(std::uint64_t offset, std::uint64_t value) {
    input_.edits.push_back(
        {place::anywhere, change::set, static_cast<std::uint16_t>(offset / 8), value});
    return *this;
  }
  damage& as_file() {
    input_.in_file = true;
    return *this;
  }
  damage& key(std::uint8_t key) {
    input_.keys = key;
    return *this;
  }

  [[nodiscard]] std::uint64_t word(std::uint64_t offset) const {
    std::uint64_t value = 0;
    std::memcpy(&value, seed_.image.data() + offset, sizeof value);
    return value;
  }
  /// Where the object of root `index` is.
  [[nodiscard]] std::uint64_t object(std::uint32_t index) const {
    return word(page_bytes + index * sizeof(root_entry) + offsetof(root_entry, object_offset));
  }
  /// Where entry `index` of the region table has its `member`.
  [[nodiscard]] static std::uint64_t region(std::uint32_t index, std::size_t member) {
    return layout_for(seed_bytes).region_table_offset + index * sizeof(region_entry) +
           offsetof(region_entry, identity) + member;
  }
  [[nodiscard]] static std::uint64_t line(std::uint64_t page) {
    return layout_for(seed_bytes).line_table_offset + page * sizeof(page_line);
  }

  [[nodiscard]] outcome outcome_of() const { return exercise(input_); }
  [[nodiscard]] const recipe& input() const noexcept { return input_; }

 private:
  const seed& seed_;
  recipe input_;
};

/// The pool is opened in memory, and attaching the structure to it is refused.
template <class Map>
void expect_corrupt(const damage& corrupted, const char* name) {
  const auto image = prepare(corrupted.input());
  const mapping memory(home_address, seed_bytes);
  std::copy(image.begin(), image.end(), memory.data());
  const auto target = pool::in_memory(memory.data(), seed_bytes, false);
  EXPECT_THROW(Map(*target, name), corruption);
}

TEST(FuzzDefects, shadows_so_far_away_that_the_address_space_wraps_around) {
  damage wrapped("list");
  wrapped.as_file().set(offsetof(static_header, shadow_distance_in_memory),
                        std::uint64_t{0} - seed_bytes + page_bytes);
  EXPECT_EQ(wrapped.outcome_of(), outcome::refused);
}

TEST(FuzzDefects, shadows_in_memory_that_the_caller_did_not_provide) {
  const seed& with_shadow = seed_named("twins");
  const mapping memory(home_address, seed_bytes);
  std::copy(with_shadow.image.begin(), with_shadow.image.end(), memory.data());
  try {
    (void)pool::in_memory(memory.data(), seed_bytes, false);
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::bad_argument);
  }
}

TEST(FuzzDefects, a_region_over_the_pages_of_a_root) {
  damage over("regions killed");
  over.set(damage::region(0, offsetof(region_identity, offset)),
           over.object(0) / page_bytes * page_bytes);
  EXPECT_EQ(over.outcome_of(), outcome::refused);
}

TEST(FuzzDefects, a_region_over_the_header) {
  damage over("regions killed");
  over.set(damage::region(0, offsetof(region_identity, offset)), 0);
  EXPECT_EQ(over.outcome_of(), outcome::refused);
}

TEST(FuzzDefects, a_shadow_in_a_pool_without_room_for_shadows) {
  damage shadow("regions killed");
  const std::uint64_t at = damage::region(0, offsetof(region_identity, kind));
  shadow.set(at, (shadow.word(at) & ~std::uint64_t{0xffffffff}) |
                     static_cast<std::uint64_t>(region_kind::shadow_copy));
  EXPECT_EQ(shadow.outcome_of(), outcome::refused);
}

TEST(FuzzDefects, a_node_too_small_at_the_end_of_the_pool) {
  damage small("list killed");
  const std::uint64_t last = damage::line(seed_bytes / page_bytes - 1);
  small.set(last, run_word{run_kind::small, 1, 0, 1}.pack()).set(last + 8, 16);
  small.set(small.object(0), home_address + seed_bytes - 16);
  EXPECT_NO_THROW(EXPECT_EQ(small.outcome_of(), outcome::reopened));
}

TEST(FuzzDefects, a_list_whose_first_link_is_marked) {
  damage marked("list killed");
  marked.set(marked.object(0), marked.word(marked.object(0)) | 1).key(1);
  EXPECT_NO_THROW(EXPECT_EQ(marked.outcome_of(), outcome::reopened));
}

TEST(FuzzDefects, a_table_whose_directory_overlaps_itself) {
  damage twice("table killed");
  const std::uint64_t segments = twice.object(0) + 16;
  twice.set(segments + 8, twice.word(segments)).key(100);
  EXPECT_NO_THROW(EXPECT_EQ(twice.outcome_of(), outcome::reopened));
}

TEST(FuzzDefects, a_node_whose_place_is_not_that_of_its_key) {
  damage moved("table killed");
  std::uint64_t node = 0;
  std::uint64_t link = moved.word(moved.word(moved.object(0) + 16));
  while (link != 0) {
    const std::uint64_t entry = (link & ~std::uint64_t{3}) - home_address;
    if ((link & algorithm::sentinel) == 0) node = entry;
    link = moved.word(entry);
  }
  const std::uint64_t order = node + 16;  // behind the link and its counter
  moved.set(order, moved.word(order) + 4);
  expect_corrupt<table>(moved, table_name);
}

TEST(FuzzDefects, a_run_that_begins_inside_another) {
  damage inside("list killed");
  const std::uint64_t first = inside.object(0) / page_bytes;
  inside.set(damage::line(first), run_word{run_kind::small, 1, 0, 2}.pack());
  inside.set(damage::line(first + 1), run_word{run_kind::small, 1, 0, 1}.pack());
  expect_corrupt<list>(inside, list_name);
}

TEST(FuzzDefects, a_clean_mark_that_knows_no_page) {
  damage clean("regions killed");
  for (const std::uint64_t slot : slot_offsets) {
    clean.set(slot + offsetof(state_slot, mark), mark_clean);
    clean.set(slot + offsetof(state_slot, high_water_page), 0);
  }
  EXPECT_EQ(clean.outcome_of(), outcome::refused);
}

TEST(FuzzDefects, a_clean_mark_that_forgets_pages_in_use_is_noticed_by_the_checker) {
  damage clean("list");
  const std::uint64_t first_page = layout_for(seed_bytes).first_data_offset / page_bytes;
  EXPECT_FALSE(has_errors(check_image(prepare(clean.input()))));
  for (const std::uint64_t slot : slot_offsets) {
    clean.set(slot + offsetof(state_slot, high_water_page), first_page);
  }
  EXPECT_TRUE(has_errors(check_image(prepare(clean.input()))));
}

TEST(FuzzDefects, a_run_that_belongs_to_nobody_is_noticed_by_the_checker) {
  damage foreign("list killed");
  const std::uint64_t at = damage::line(foreign.object(0) / page_bytes);
  run_word run = run_word::unpack(foreign.word(at));
  run.owner = 7;
  foreign.set(at, run.pack());
  EXPECT_TRUE(has_errors(check_image(prepare(foreign.input()))));
}

TEST(FuzzDefects, a_run_inside_that_of_an_unfinished_root) {
  damage inside("regions killed");
  std::uint64_t first = layout_for(seed_bytes).first_data_offset / page_bytes;
  const run_word of_half{run_kind::large, 1, 1, 2};
  while (inside.word(damage::line(first)) != of_half.pack()) ++first;
  inside.set(damage::region(0, 0) - offsetof(region_entry, identity), entry_creating);
  inside.set(damage::line(first + 1), run_word{run_kind::small, 1, 0, 1000}.pack());
  EXPECT_EQ(inside.outcome_of(), outcome::refused);
}

TEST(FuzzDefects, a_base_address_behind_which_null_lies) {
  damage wrapped("both killed");
  const std::uint64_t bases = page_bytes + offsetof(root_entry, bases);
  wrapped.set(bases + sizeof(root_entry) + 8, ~std::uint64_t{0} - 5 * page_bytes + 1);
  expect_corrupt<table>(wrapped, table_name);
  const auto found = check_image(prepare(wrapped.input()));
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const finding& one) {
    return one.sentence.find("base addresses") != std::string::npos;
  }));
}

TEST(FuzzDefects, base_addresses_too_near_to_each_other) {
  damage near("list killed");
  near.set(page_bytes + offsetof(root_entry, bases) + 8, home_address + page_bytes);
  expect_corrupt<list>(near, list_name);
}

TEST(FuzzDefects, a_link_to_an_odd_address) {
  damage odd("list killed");
  odd.set(odd.object(0), odd.word(odd.object(0)) + 4);
  EXPECT_NO_THROW(EXPECT_EQ(odd.outcome_of(), outcome::reopened));
}

}  // namespace
}  // namespace outlast::fuzz
