// Goal: a pool on a DAX device without a file system replaces only contents that are no pool, uses
// no byte that was there before, and reports which failures it survives. Method: files that are
// treated as such devices, full of foreign bytes or of an earlier pool; folders that look like
// sysfs. Guests with real devices: tests/dax/run.
#include <outlast/base/hash.hpp>
#include <outlast/containers/red_black_tree.hpp>
#include <outlast/domain.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/hw/flush.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/machine.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <outlast/pool/replica_pair.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/tx/left_right.hpp>
#include <src/pool/file/dax_device.hpp>
#include <tests/support/reasons.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace outlast {
namespace {

using test::reason_of;
using test::temp_directory;
namespace fs = std::filesystem;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t device_bytes = 48 * mib;
constexpr std::size_t alignment = 2 * mib;
constexpr pool_options small{.size_bytes = 24 * mib, .capacity_bytes = 32 * mib};

// ---- what sysfs says ----

class Sysfs : public ::testing::Test {
 protected:
  /// A file of the tree, with the folders that it needs.
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  void link_subsystem(const char* bus) const {
    fs::create_directories(root_ / device);
    fs::create_directory_symlink(std::string("../../bus/") + bus, root_ / device / "subsystem");
  }
  [[nodiscard]] domain::kind persistence() const {
    return pool_detail::persistence_of_dax(root_ / device);
  }
  static constexpr const char* device = "bus0/region0/dax0.0/dax0.0";
  temp_directory directory_;
  fs::path root_ = directory_.file("sys");
};

TEST_F(Sysfs, tells_size_and_alignment) {
  link_subsystem("dax");
  write(fs::path(device) / "size", "16777216");
  write(fs::path(device) / "align", "4096");
  const auto found = pool_detail::read_dax_device(root_ / device);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, 16 * mib);
  EXPECT_EQ(found->alignment, 4096u);
}

TEST_F(Sysfs, of_an_older_kernel_tells_the_alignment_of_the_region) {
  link_subsystem("dax");
  write(fs::path(device) / "size", "5242880");
  write("bus0/region0/dax0.0/dax_region/align", "2097152");
  const auto found = pool_detail::read_dax_device(root_ / device);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, 4 * mib) << "what is no whole unit cannot be mapped";
  EXPECT_EQ(found->alignment, 2 * mib);
}

TEST_F(Sysfs, that_tells_no_alignment_is_taken_for_the_usual_one) {
  link_subsystem("dax");
  write(fs::path(device) / "size", "4194304");
  EXPECT_EQ(pool_detail::read_dax_device(root_ / device)->alignment, 2 * mib);
}

TEST_F(Sysfs, of_other_devices_is_not_believed) {
  link_subsystem("tty");
  write(fs::path(device) / "size", "4194304");
  EXPECT_FALSE(pool_detail::read_dax_device(root_ / device));
  EXPECT_FALSE(pool_detail::read_dax_device(root_ / "nowhere"));
}

TEST_F(Sysfs, tells_what_survives_where_the_persistence_domain_is_known) {
  write("bus0/region0/uevent", "DEVTYPE=nd_pmem\nDRIVER=nd_region");
  write("bus0/provider", "somebody");
  EXPECT_EQ(persistence(), domain::kind::process);
  write("bus0/region0/persistence_domain", "memory_controller");
  EXPECT_EQ(persistence(), domain::kind::adr);
  write("bus0/region0/persistence_domain", "cpu_cache");
  EXPECT_EQ(persistence(), domain::kind::cache_persistent);
}

TEST_F(Sysfs, of_an_old_NFIT_or_of_memmap_is_vouched_for) {
  write("bus0/region0/uevent", "DEVTYPE=nd_pmem");
  for (const char* const known : {"ACPI.NFIT", "e820"}) {
    write("bus0/provider", known);
    EXPECT_EQ(persistence(), domain::kind::adr) << known;
  }
  write("bus0/provider", "virtio-pmem");  // a page cache of the host's
  EXPECT_EQ(persistence(), domain::kind::process);
}

TEST_F(Sysfs, of_ordinary_memory_promises_nothing) {
  write("bus0/region0/uevent", "DEVTYPE=nd_volatile");
  write("bus0/provider", "ACPI.NFIT");
  EXPECT_EQ(persistence(), domain::kind::process);
  EXPECT_EQ(pool_detail::persistence_of_dax("/nowhere/hmem.0/dax0.0"), domain::kind::process);
}

// ---- pools on devices ----

class DaxDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream out(path_, std::ios::binary);
    std::vector<std::uint64_t> words(mib / sizeof(std::uint64_t));
    for (std::size_t at = 0; at < device_bytes; at += mib) {
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = base::mix64(at + i) | 1;
      out.write(reinterpret_cast<const char*>(words.data()), mib);
    }
    out.close();
    pool_detail::test_hooks().dax_alignment = alignment;
    pool_detail::test_hooks().mapping = domain::kind::adr;
  }
  void TearDown() override { pool_detail::test_hooks() = {}; }

  void overwrite(std::uint64_t offset, const void* bytes, std::size_t size) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  }
  [[nodiscard]] std::uint64_t word_at(std::uint64_t offset) const {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    std::uint64_t word = 0;
    file.read(reinterpret_cast<char*>(&word), sizeof word);
    return word;
  }
  /// Numbers from 1 on in structures of four families, which recover in four ways.
  void fill(pool& in, std::uint64_t from, std::uint64_t to) const {
    lockfree::hash_table<std::uint64_t, std::uint64_t> traced(in, "traced");
    sets::link_free_hash<std::uint64_t, std::uint64_t> scanned(in, "scanned");
    epoch::hash_map<std::uint64_t, std::uint64_t> buffered(in, "buffered");
    tx::left_right<> manager(in, "manager");
    const auto tree = manager.root<tree_type>("tree");
    for (std::uint64_t key = from; key <= to; ++key) {
      traced.put(key, ~key);
      scanned.insert(key, ~key);
      buffered.put(key, ~key);
      manager.update(tree, [key](tree_type& all) { return all.put(key, ~key); });
    }
    buffered.sync();
  }
  void expect_exactly(pool& in, std::uint64_t last) const {
    lockfree::hash_table<std::uint64_t, std::uint64_t> traced(in, "traced");
    sets::link_free_hash<std::uint64_t, std::uint64_t> scanned(in, "scanned");
    epoch::hash_map<std::uint64_t, std::uint64_t> buffered(in, "buffered");
    tx::left_right<> manager(in, "manager");
    const auto tree = manager.root<tree_type>("tree");
    for (std::uint64_t key = 0; key <= last + 100; ++key) {
      const bool there = key >= 1 && key <= last;
      EXPECT_EQ(traced.get(key).value_or(key) == ~key, there) << key;
      EXPECT_EQ(scanned.get(key).value_or(key) == ~key, there) << key;
      EXPECT_EQ(buffered.get(key).value_or(key) == ~key, there) << key;
      const auto found = manager.read(tree, [key](const tree_type& all) { return all.get(key); });
      EXPECT_EQ(found.value_or(key) == ~key, there) << key;
    }
    std::uint64_t entries = 0;
    traced.for_each([&](const auto&, const auto&) { ++entries; });
    EXPECT_EQ(entries, last);
  }

  using tree_type = containers::red_black_tree<std::uint64_t, std::uint64_t>;
  temp_directory directory_;
  std::string path_ = directory_.file("dax0.0");
};

TEST_F(DaxDevice, with_foreign_bytes_holds_no_pool_until_one_is_created) {
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::not_found);
  const std::uint64_t last_word = word_at(device_bytes - 8);
  {
    pool made = pool::create(path_, small);
    // What cleans lines to where CPUs agree brings them no further: emulated machines ask for it.
    const bool flushes = hw::chosen_flush_instruction() != hw::flush_instruction::dc_cvac;
    EXPECT_EQ(made.survives(), flushes ? domain::kind::adr : domain::kind::process);
    const std::string said = made.guarantee();
    EXPECT_EQ(said.find("power cuts") != std::string::npos, flushes) << said;
    EXPECT_EQ(made.base() % alignment, 0u);
    EXPECT_TRUE(made.roots().empty());
    EXPECT_FALSE(pool_format::has_errors(made.check()));
  }
  EXPECT_EQ(fs::file_size(path_), device_bytes);
  EXPECT_EQ(word_at(device_bytes - 8), last_word);
  EXPECT_EQ(reason_of([&] { (void)pool::create(path_, small); }), errc::already_exists);
  EXPECT_TRUE(pool::open(path_).was_dirty());
}

TEST_F(DaxDevice, keeps_what_is_in_it_through_kills_and_closing) {
  {
    pool killed = pool::open_or_create(path_, small);
    fill(killed, 1, 300);
  }
  {
    pool closed = pool::open_or_create(path_, small);
    EXPECT_TRUE(closed.was_dirty());
    expect_exactly(closed, 300);
    fill(closed, 301, 600);
    closed.close();
  }
  EXPECT_FALSE(pool_format::has_errors(pool_format::check_file(path_)));
  pool again = pool::open(path_);
  EXPECT_FALSE(again.was_dirty());
  expect_exactly(again, 600);
}

TEST_F(DaxDevice, whose_pool_was_wiped_believes_nothing_of_it) {
  {
    pool old = pool::create(path_, small);
    fill(old, 1, 600);
    old.close();
  }
  const std::vector<char> zeros(pool_format::page_bytes);
  overwrite(0, zeros.data(), zeros.size());
  {
    pool fresh = pool::create(path_, small);
    EXPECT_TRUE(fresh.roots().empty());
    EXPECT_TRUE(fresh.regions().empty());
    EXPECT_FALSE(pool_format::has_errors(fresh.check()));
    fill(fresh, 1, 200);
  }
  pool after = pool::open(path_);
  expect_exactly(after, 200);
}

TEST_F(DaxDevice, whose_creation_was_cut_off_holds_no_pool) {
  pool::create(path_, small).close();
  overwrite(0, "CREATING", 8);
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::not_found);
  EXPECT_FALSE(pool::open_or_create(path_, small).was_dirty());
}

TEST_F(DaxDevice, does_not_lose_a_pool_whose_magic_is_damaged) {
  pool::create(path_, small).close();
  overwrite(0, "outlast?", 8);
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::not_a_pool);
  EXPECT_EQ(reason_of([&] { (void)pool::create(path_, small); }), errc::already_exists);
  EXPECT_EQ(reason_of([&] { (void)pool::open_or_create(path_, small); }), errc::not_a_pool);
  overwrite(0, "OUTLAST\x1a", 8);
  overwrite(100, "?", 1);
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::header_damaged);
  EXPECT_EQ(reason_of([&] { (void)pool::create(path_, small); }), errc::already_exists);
}

TEST_F(DaxDevice, has_one_opener) {
  pool first = pool::create(path_, small);
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::already_open);
  EXPECT_EQ(reason_of([&] { (void)pool::create(path_, small); }), errc::already_open);
  EXPECT_TRUE(pool_format::file_view(path_).in_use());
}

TEST_F(DaxDevice, grows_to_its_end_and_no_further) {
  {
    pool target = pool::create(
        path_, {.size_bytes = 5 * mib, .capacity_bytes = 100 * mib, .format_version = 1});
    target.grow(20 * mib);
    fill(target, 1, 100);
    EXPECT_EQ(reason_of([&] { target.grow(64 * mib); }), errc::no_space);
    EXPECT_EQ(target.size_bytes(), 20 * mib);
  }
  pool again = pool::open(path_);
  EXPECT_EQ(again.size_bytes(), 20 * mib);
  expect_exactly(again, 100);
}

TEST_F(DaxDevice, can_be_filled_to_its_end) {
  pool target = pool::create(path_, {.size_bytes = device_bytes});
  EXPECT_EQ(target.capacity_bytes(), device_bytes);
  std::size_t pages = 0;
  try {
    for (;; ++pages) {
      std::memset(target.pages().allocate_run(pool_format::run_kind::large, 0, 1, 1, 4096), 1,
                  4096);
    }
  } catch (const out_of_space&) {
  }
  EXPECT_GT(pages * 4096, device_bytes * 9 / 10);
}

TEST_F(DaxDevice, that_is_too_small_is_refused_and_left_alone) {
  const std::uint64_t first_word = word_at(0);
  EXPECT_EQ(reason_of([&] { (void)pool::create(path_, {.size_bytes = 64 * mib}); }),
            errc::no_space);
  EXPECT_EQ(word_at(0), first_word);
}

TEST_F(DaxDevice, gives_the_usual_sizes_what_it_has) {
  pool target = pool::create(path_, {.size_bytes = 4 * mib});
  EXPECT_EQ(target.capacity_bytes(), device_bytes);
}

TEST_F(DaxDevice, refuses_domains_that_sync_files) {
  for (const bool exists : {false, true}) {
    if (exists) pool::create(path_, small).close();
    try {
      (void)basic_pool<domain::file>::open_or_create(path_, small);
      ADD_FAILURE() << "a device was taken for a file";
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), errc::refused);
      EXPECT_NE(std::string(refused.what()).find(path_), std::string::npos);
      EXPECT_NE(std::string(refused.what()).find("DAX device"), std::string::npos);
    }
    EXPECT_EQ(reason_of([&] { (void)basic_pool<domain::logged_file>::create(path_, small); }),
              errc::refused);
    EXPECT_EQ(reason_of([&] { (void)basic_pool<domain::logged_file>::open(path_); }),
              errc::refused);
  }
}

TEST_F(DaxDevice, has_no_room_for_a_second_replica_beside_it) {
  pool target = pool::create(path_, small);
  EXPECT_EQ(
      reason_of([&] { const pool_detail::shadow_memory beside(target.base(), mib, path_, true); }),
      errc::refused);
}

TEST_F(DaxDevice, is_mapped_in_its_units) {
  pool_detail::test_hooks().dax_alignment = 4 * mib;
  EXPECT_EQ(reason_of([&] {
              pool_options odd = small;
              odd.base_address = 0x553'4000'0000 + 2 * mib;
              (void)pool::create(path_, odd);
            }),
            errc::bad_argument);
  pool_options odd = small;
  odd.capacity_bytes = 30 * mib + 4096;
  odd.format_version = 1;
  pool target = pool::create(path_, odd);
  EXPECT_EQ(target.capacity_bytes(), 32 * mib);
  EXPECT_EQ(target.base() % (4 * mib), 0u);
}

TEST_F(DaxDevice, takes_no_pool_whose_capacity_does_not_fit_its_units) {
  pool_detail::test_hooks().dax_alignment.reset();
  fs::remove(path_);
  pool::create(path_, {.size_bytes = 8 * mib, .capacity_bytes = 31 * mib, .format_version = 1})
      .close();
  pool_detail::test_hooks().dax_alignment = alignment;
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::refused);
}

TEST_F(DaxDevice, keeps_twins_of_regions_apart_from_it) {
  pool_options with_shadows = small;
  with_shadows.reserve_shadow_copy = true;
  pool target = pool::create(path_, with_shadows);
  const region_info region = target.reserve_region("twin", region_kind::shadow_copy, 3 * mib);
  target.commit_region("twin", 0, 0, region.bytes);
  std::memset(region.shadow_copy, 1, region.bytes);
  std::memset(region.address, 2, region.bytes);
  EXPECT_EQ(region.shadow_copy[region.bytes - 1], std::byte{1});
  EXPECT_EQ(target.read_region("twin").data()[region.bytes - 1], std::byte{2});
  target.grow(32 * mib);
  EXPECT_EQ(region.shadow_copy[0], std::byte{1});
}

TEST_F(DaxDevice, that_is_no_persistent_memory_is_torn_by_a_machine_crash) {
  pool_detail::test_hooks().mapping.reset();  // the file is in no region of persistent memory
  pool_detail::test_hooks().boot = pool_format::boot_id{1};
  {
    pool target = pool::create(path_, small);
    EXPECT_EQ(target.survives(), domain::kind::process);
    fill(target, 1, 10);
  }
  pool_detail::test_hooks().boot = pool_format::boot_id{2};
  EXPECT_EQ(reason_of([&] { (void)pool::open(path_); }), errc::torn_by_machine_crash);
}

TEST_F(DaxDevice, is_no_device_under_another_type) {
  pool_detail::test_hooks() = {};
  EXPECT_EQ(reason_of([&] { (void)pool::open("/dev/null"); }), errc::not_a_pool);
  EXPECT_EQ(reason_of([&] { (void)pool::create("/dev/null"); }), errc::already_exists);
}

}  // namespace
}  // namespace outlast
