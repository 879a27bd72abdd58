// Goal: whatever is wrong with a file, opening it is a clear error that names file and cause, and
// nothing in the file changes. Method: good pools, spoiled in every way that the format knows; the
// bytes are compared before and after.
#include <outlast/base/hash.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/temp_pool.hpp>
#include <tests/support/whole_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast {
namespace {

using test::temp_directory;
using namespace pool_format;

constexpr pool_options tiny{.size_bytes = 512 << 10, .capacity_bytes = 512 << 10};

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A pool with one published root, "number", that holds 42; closed.
std::string good_pool(const std::string& path) {
  auto target = pool::create(path, tiny);
  const attached_root root = target.attach_root("number", "number", 1, true);
  auto* const object = static_cast<std::uint64_t*>(
      target.pages().allocate_run(run_kind::large, root.index, 1, 1, 4096));
  *object = 42;
  target.publish_root(root.index, object);
  target.detach_root(root.index, true);
  target.close();
  return test::whole_file(path);
}

/// Opening `path` fails with `expected`, says why, names the file and changes no byte of it.
void expect_refused(const std::string& path, errc expected, const pool_options& options = {}) {
  const std::string before = test::whole_file(path);
  try {
    auto opened = pool::open(path, options);
    ADD_FAILURE() << "was opened";
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), expected) << refused.what();
    EXPECT_EQ(refused.path(), path);
    EXPECT_NE(std::string(refused.what()).find(path), std::string::npos);
    EXPECT_GT(std::string(refused.what()).size(), path.size() + 30);
  }
  EXPECT_EQ(test::whole_file(path), before);
}

class bad_input : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return directory_.file("pool"); }
  /// Writes the good pool with its header changed and sealed again.
  void corrupt_bytes(const std::function<void(header_page&)>& change) {
    if (good_.empty()) good_ = good_pool(directory_.file("good"));
    std::string bytes = good_;
    header_page page{};
    std::memcpy(static_cast<void*>(&page), bytes.data(), sizeof page);
    change(page);
    seal(page);
    std::memcpy(bytes.data(), &page, sizeof page);
    write_file(file(), bytes);
  }
  temp_directory directory_;
  std::string good_;
};

TEST_F(bad_input, a_missing_file) {
  try {
    (void)pool::open(file());
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::not_found);
  }
  EXPECT_THROW((void)pool::create(directory_.file("no/such/directory")), error);
}

TEST_F(bad_input, a_directory) {
  try {
    (void)pool::open(std::filesystem::path(file()).parent_path().string());
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::not_a_pool);
  }
}

TEST_F(bad_input, a_pipe_and_a_device) {
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_THROW((void)pool::open(file()), error);
  EXPECT_THROW((void)pool::open("/dev/null"), error);
}

TEST_F(bad_input, an_empty_file) {
  write_file(file(), "");
  expect_refused(file(), errc::not_a_pool);
}

TEST_F(bad_input, another_kind_of_file) {
  write_file(file(), std::string(100000, 'x'));
  expect_refused(file(), errc::not_a_pool);
  write_file(file(), "short");
  expect_refused(file(), errc::truncated);
}

TEST_F(bad_input, a_pool_cut_off_at_any_page) {
  const std::string bytes = good_pool(directory_.file("good"));
  for (std::size_t size = 4096; size < bytes.size(); size += 4096) {
    write_file(file(), bytes.substr(0, size));
    expect_refused(file(), errc::truncated);
    EXPECT_TRUE(has_errors(check_file(file())));
  }
  for (const std::size_t size : {7u, 8u, 64u, 2048u, 4095u}) {
    write_file(file(), bytes.substr(0, size));
    expect_refused(file(), errc::truncated);
  }
}

TEST_F(bad_input, any_byte_of_the_header_flipped) {
  const std::string good = good_pool(directory_.file("good"));
  for (std::size_t i = 0; i < sizeof(header_page); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    const header_reading reading = read_header(std::as_bytes(std::span(bytes)));
    const bool in_slot = (i >= slot_offsets[0] && i < slot_offsets[0] + line_bytes) ||
                         (i >= slot_offsets[1] && i < slot_offsets[1] + line_bytes);
    if (in_slot) {
      ASSERT_TRUE(reading.header) << i;
      EXPECT_NE(reading.header->slot_intact[0], reading.header->slot_intact[1]);
      EXPECT_EQ(reading.header->state.mark, mark_clean);
    } else {
      ASSERT_TRUE(reading.problem) << i;
    }
  }
}

TEST_F(bad_input, flipped_bytes_seen_by_open_and_check) {
  const std::string good = good_pool(directory_.file("good"));
  for (std::size_t i = 0; i < sizeof(header_page); i += i < 8 ? 1 : i < 200 ? 3 : 397) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x01);
    write_file(file(), bytes);
    if (read_header(std::as_bytes(std::span(bytes))).header) continue;
    EXPECT_TRUE(has_errors(check_file(file())));
    expect_refused(file(), i < 8 ? errc::not_a_pool : errc::header_damaged);
  }
}

TEST_F(bad_input, a_damaged_state_slot_is_reported_and_repaired_without_loss) {
  const std::string good = good_pool(directory_.file("good"));
  for (const std::size_t slot : slot_offsets) {
    for (std::size_t i = slot; i < slot + line_bytes; i += 7) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(~bytes[i]);
      write_file(file(), bytes);
      EXPECT_EQ(check_file(file()).size(), 1u);
      EXPECT_FALSE(has_errors(check_file(file())));
      auto target = pool::open(file());
      EXPECT_FALSE(target.was_dirty());
      const attached_root root = target.attach_root("number", "number", 1, true);
      EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(target.base() + root.object_offset), 42u);
      EXPECT_EQ(root.state, root_state::clean);
      target.close();
      EXPECT_TRUE(check_file(file()).empty());
    }
  }
}

TEST_F(bad_input, both_state_slots_damaged) {
  std::string bytes = good_pool(directory_.file("good"));
  bytes[slot_offsets[0]] ^= 1;
  bytes[slot_offsets[1]] ^= 1;
  write_file(file(), bytes);
  expect_refused(file(), errc::header_damaged);
}

TEST_F(bad_input, a_newer_version) {
  corrupt_bytes([](header_page& page) { page.fixed.format_version = pool_format::version + 1; });
  expect_refused(file(), errc::newer_version);
}

TEST_F(bad_input, an_unknown_feature) {
  corrupt_bytes([](header_page& page) { page.fixed.incompatible_features = 4; });
  expect_refused(file(), errc::newer_version);
  corrupt_bytes([](header_page& page) { page.fixed.read_only_compatible_features = 4; });
  expect_refused(file(), errc::newer_version);
  corrupt_bytes([](header_page& page) { page.fixed.compatible_features = 4; });
  EXPECT_NO_THROW(pool::open(file()).close());
}

TEST_F(bad_input, the_other_byte_order) {
  std::string bytes = good_pool(directory_.file("good"));
  header_page page{};
  std::memcpy(static_cast<void*>(&page), bytes.data(), sizeof page);
  page.fixed.endian = 0x0807060504030201ULL;
  seal(page);
  auto* const sum = reinterpret_cast<char*>(&page.fixed.checksum);
  std::reverse(sum, sum + 8);
  std::memcpy(bytes.data(), &page, sizeof page);
  write_file(file(), bytes);
  expect_refused(file(), errc::foreign_machine);
}

TEST_F(bad_input, another_word_size_and_other_pages) {
  corrupt_bytes([](header_page& page) { page.fixed.word_size_bytes = 4; });
  expect_refused(file(), errc::foreign_machine);
  corrupt_bytes([](header_page& page) { page.fixed.page_size_bytes = 16384; });
  expect_refused(file(), errc::foreign_machine);
}

TEST_F(bad_input, sizes_that_contradict_each_other) {
  corrupt_bytes([](header_page& page) { page.fixed.line_table_offset += 4096; });
  expect_refused(file(), errc::corrupted);
  corrupt_bytes([](header_page& page) { page.fixed.root_count = 1u << 30; });
  expect_refused(file(), errc::corrupted);
  corrupt_bytes([](header_page& page) { page.fixed.capacity_bytes = ~std::uint64_t{0}; });
  expect_refused(file(), errc::corrupted);
  corrupt_bytes([](header_page& page) {
    page.slot_0.size_bytes = page.slot_1.size_bytes = std::uint64_t{1} << 50;
    seal(page.slot_0);
    seal(page.slot_1);
  });
  expect_refused(file(), errc::corrupted);
}

TEST_F(bad_input, a_root_opened_as_another_type) {
  (void)good_pool(file());
  auto target = pool::open(file());
  try {
    (void)target.attach_root("number", "word", 2, true);
    FAIL();
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::root_type_mismatch);
    const std::string what = refused.what();
    for (const std::string& part : {std::string("'number'"), std::string("'word'"), file()}) {
      EXPECT_NE(what.find(part), std::string::npos) << what;
    }
  }
  EXPECT_EQ(target.attach_root("number", "number", 1, true).state, root_state::clean);
}

TEST_F(bad_input, a_second_owner_of_a_root_and_bad_names) {
  (void)good_pool(file());
  auto target = pool::open(file());
  (void)target.attach_root("number", "number", 1, true);
  EXPECT_THROW((void)target.attach_root("number", "number", 1, true), error);
  EXPECT_THROW((void)target.attach_root("", "number", 1, true), error);
  EXPECT_THROW((void)target.attach_root(std::string(64, 'x'), "number", 1, true), error);
  EXPECT_THROW(target.publish_root(99, nullptr), error);
  int elsewhere = 0;
  const attached_root fresh = target.attach_root("fresh", "number", 1, true);
  EXPECT_THROW(target.publish_root(fresh.index, &elsewhere), error);
}

TEST_F(bad_input, damaged_root_entries_hide_nothing) {
  const std::string good = good_pool(directory_.file("good"));
  for (std::size_t i = 0; i < sizeof(root_entry); i += 3) {
    const bool free_to_change =
        (i >= offsetof(root_entry, occupancy_valid) && i < offsetof(root_entry, identity));
    if (free_to_change) continue;
    std::string bytes = good;
    bytes[4096 + i] = static_cast<char>(bytes[4096 + i] ^ 0x20);
    write_file(file(), bytes);
    EXPECT_TRUE(has_errors(check_file(file()))) << i;
    auto target = pool::open(file());
    EXPECT_THROW((void)target.attach_root("number", "number", 1, true), corruption) << i;
  }
}

TEST_F(bad_input, damaged_page_lines_are_found) {
  const std::string good = good_pool(directory_.file("good"));
  const auto header = *read_header(std::as_bytes(std::span(good))).header;
  const std::size_t line = header.fixed.line_table_offset +
                           header.fixed.first_data_offset / page_bytes * sizeof(page_line);
  for (const std::size_t byte : {0u, 2u, 6u}) {  // kind, owner, pages
    std::string bytes = good;
    bytes[line + byte] = static_cast<char>(bytes[line + byte] ^ 0x40);
    write_file(file(), bytes);
    EXPECT_TRUE(has_errors(check_file(file()))) << byte;
  }
}

/// The word of the entry's state and of the page's line, in the bytes of a good pool.
struct places {
  std::size_t state_of_second_root = pool_format::page_bytes + sizeof(root_entry);
  std::size_t first_line;
  explicit places(const std::string& good) {
    const auto header = *read_header(std::as_bytes(std::span(good))).header;
    state_of_second_root += offsetof(root_entry, state);
    first_line = header.fixed.line_table_offset +
                 header.fixed.first_data_offset / page_bytes * sizeof(page_line);
  }
};

TEST_F(bad_input, a_damaged_page_line_beside_a_half_made_root) {
  std::string bytes = good_pool(directory_.file("good"));
  const places at(bytes);
  bytes[at.first_line] = 0x41;  // an unknown kind of run
  const std::uint64_t creating = entry_creating;
  std::memcpy(bytes.data() + at.state_of_second_root, &creating, sizeof creating);
  write_file(file(), bytes);
  expect_refused(file(), errc::corrupted);
  expect_refused(file(), errc::corrupted);
}

TEST_F(bad_input, a_damaged_page_line_in_a_pool_that_was_killed) {
  (void)good_pool(file());
  {
    auto killed = pool::open(file());
  }
  std::string bytes = test::whole_file(file());
  bytes[places(bytes).first_line] = 0x41;
  write_file(file(), bytes);
  expect_refused(file(), errc::corrupted);
}

TEST_F(bad_input, a_region_that_lies_outside_of_the_pool) {
  pool_options with_twin = tiny;
  with_twin.reserve_shadow_copy = true;
  std::size_t entry = 0;
  {
    auto target = pool::create(file(), with_twin);
    (void)target.reserve_region("twin", region_kind::shadow_copy, 4096);
    target.close();
  }
  std::string bytes = test::whole_file(file());
  entry = read_header(std::as_bytes(std::span(bytes))).header->fixed.region_table_offset;
  region_identity identity{};
  char* const place = bytes.data() + entry + offsetof(region_entry, identity);
  std::memcpy(static_cast<void*>(&identity), place, sizeof identity);
  identity.offset = std::uint64_t{1} << 44;
  seal(identity);
  std::memcpy(place, &identity, sizeof identity);
  write_file(file(), bytes);
  expect_refused(file(), errc::corrupted);
}

TEST_F(bad_input, a_damaged_page_line_met_late_keeps_the_pool_from_being_clean) {
  std::string bytes = good_pool(directory_.file("good"));
  const places at(bytes);
  // Kind 2 (large) stays; the next run claims more pages than there are.
  const std::uint64_t absurd = run_word{run_kind::large, 1, 0, 1u << 30}.pack();
  std::memcpy(bytes.data() + at.first_line + sizeof(page_line), &absurd, sizeof absurd);
  write_file(file(), bytes);
  auto target = pool::open(file());
  const attached_root root = target.attach_root("number", "number", 1, true);
  target.pages().free_run(reinterpret_cast<void*>(target.base() + root.object_offset));
  try {
    target.close();
    FAIL();
  } catch (const corruption& met) {
    EXPECT_EQ(met.path(), file());
  }
  const std::string after = test::whole_file(file());
  EXPECT_TRUE(read_header(std::as_bytes(std::span(after))).header->dirty());
}

TEST_F(bad_input, a_second_opener_in_this_process) {
  (void)good_pool(file());
  auto target = pool::open(file());
  expect_refused(file(), errc::already_open);
}

TEST_F(bad_input, a_second_opener_in_another_process) {
  (void)good_pool(file());
  int ready[2];
  int over[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(over), 0);
  const pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    auto target = pool::open(file());
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(over[0], &byte, 1);
    ::_exit(0);
  }
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  expect_refused(file(), errc::already_open);
  try {
    (void)pool::open(file());
  } catch (const error& refused) {
    EXPECT_NE(std::string(refused.what()).find(std::to_string(child)), std::string::npos)
        << refused.what();
  }
  const std::vector<finding> findings = check_file(file());
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                          [](const finding& one) { return one.level == severity::warning; }));
  (void)!::write(over[1], &byte, 1);
  ::waitpid(child, nullptr, 0);
  EXPECT_NO_THROW((void)pool::open(file()));
}

TEST_F(bad_input, a_write_protected_file) {
  (void)good_pool(file());
  ASSERT_EQ(::chmod(file().c_str(), 0444), 0);
  expect_refused(file(), errc::read_only);
  EXPECT_TRUE(check_file(file()).empty());
}

TEST_F(bad_input, creation_over_an_existing_file) {
  write_file(file(), "precious");
  for (const bool unnamed : {true, false}) {
    pool_detail::test_hooks().no_unnamed_files = !unnamed;
    try {
      (void)pool::create(file(), tiny);
      ADD_FAILURE();
    } catch (const error& refused) {
      EXPECT_EQ(refused.reason(), errc::already_exists);
    }
  }
  pool_detail::test_hooks() = {};
  EXPECT_EQ(test::whole_file(file()), "precious");
}

TEST_F(bad_input, sizes_out_of_range) {
  const auto reason = [&](const pool_options& options) {
    try {
      (void)pool::create(file(), options);
    } catch (const error& refused) {
      return refused.reason();
    }
    return errc::closed;
  };
  EXPECT_EQ(reason({.size_bytes = 0}), errc::too_small);
  EXPECT_EQ(reason({.size_bytes = 4096}), errc::too_small);
  EXPECT_EQ(reason({.size_bytes = 8 << 20, .capacity_bytes = 4 << 20}), errc::bad_argument);
  EXPECT_EQ(reason({.size_bytes = ~std::size_t{0}}), errc::bad_argument);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(bad_input, a_full_file_system) {
  const std::string mount_point = directory_.file("mount");
  ASSERT_TRUE(std::filesystem::create_directory(mount_point));
  if (::mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "mounting needs privileges";
  }
  const std::string path = mount_point + "/pool";
  {
    auto target = pool::create(path, {.size_bytes = 64 << 20});
    EXPECT_NE(target.guarantee().find("reboot"), std::string::npos);
    std::size_t pages = 0;
    try {
      for (;; ++pages) {
        std::memset(target.pages().allocate_run(run_kind::large, 0, 1, 1, 4096), 1, 4096);
      }
    } catch (const out_of_space&) {
    }
    EXPECT_GT(pages, 100u);
    EXPECT_THROW((void)target.reserve_region("r", region_kind::log, 1 << 20), out_of_space);
    target.close();
  }
  try {
    (void)pool::create(mount_point + "/second", tiny);
    ADD_FAILURE();
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::no_space);
  }
  EXPECT_FALSE(std::filesystem::exists(mount_point + "/second"));
  ::umount(mount_point.c_str());
}

TEST_F(bad_input, a_limit_on_file_sizes) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      (void)pool::create(file(), {.size_bytes = 8 << 20});
    } catch (const error& refused) {
      ::_exit(refused.reason() == errc::no_space ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(bad_input, random_bytes_never_harm_the_checker) {
  const std::string good = good_pool(directory_.file("good"));
  std::uint64_t seed = 1;
  const auto next = [&seed] { return seed = base::mix64(seed + 0x9e3779b97f4a7c15ULL); };
  for (int round = 0; round < 100; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 40; ++i) {
      // Spare the header, or nothing behind it would be looked at.
      bytes[4096 + next() % (200 * 1024)] = static_cast<char>(next());
    }
    write_file(file(), bytes);
    (void)check_file(file());
    std::error_code failed;
    (void)pool::try_open(file(), {}, failed);
  }
}

TEST_F(bad_input, random_headers_never_harm_the_reader) {
  const std::string good = good_pool(directory_.file("good"));
  std::uint64_t seed = 7;
  const auto next = [&seed] { return seed = base::mix64(seed + 0x9e3779b97f4a7c15ULL); };
  for (int round = 0; round < 20000; ++round) {
    header_page page{};
    std::memcpy(static_cast<void*>(&page), good.data(), sizeof page);
    auto* const bytes = reinterpret_cast<unsigned char*>(&page);
    for (int i = 0; i < 3; ++i) bytes[next() % 192] = static_cast<unsigned char>(next());
    page.slot_0.size_bytes = next() >> (next() % 64);
    seal(page.slot_0);
    page.fixed.magic_word = magic;
    page.fixed.endian = endian_tag;
    seal(page);
    (void)read_header(std::as_bytes(std::span(&page, 1)));
  }
}

}  // namespace
}  // namespace outlast
