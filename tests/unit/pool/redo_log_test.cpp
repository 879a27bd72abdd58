// Goal: the lines that a fence of domain::logged_file has acknowledged are in the pool, whatever
// happens to process, device and log. A log that cannot be right is refused with the names of both
// files.
// Method: pools in memory file systems, lines written by hand, logs corrupted byte by byte, and a
// device that stops at any step.
#include <outlast/domain.hpp>
#include <outlast/pool/any_domain.hpp>
#include <outlast/pool/check.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/redo_log.hpp>
#include <outlast/pool/pool.hpp>
#include <tests/support/failing_device.hpp>
#include <tests/support/memory_folder.hpp>
#include <tests/support/whole_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace outlast {
namespace {

using domain::logged_file;
using logged_pool = basic_pool<logged_file>;
using pool_format::first_batch_offset;
using pool_format::page_bytes;
using bytes = std::vector<char>;

constexpr pool_options small{
    .size_bytes = 1 << 20, .capacity_bytes = 4 << 20, .log_bytes = 64 << 10};

bytes content_of(const std::string& path) {
  const std::string all = test::whole_file(path);
  return {all.begin(), all.end()};
}

void write_content(const std::string& path, const bytes& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
}

using test::failing_device;
using test::word_at;

void set(logged_pool& pool, std::uint64_t page, std::uint64_t value, std::size_t word = 0) {
  std::uint64_t* const at = word_at(pool, page, word);
  *at = value;
  domain::persist<logged_file>(at, sizeof *at);
}

class RedoLog : public testing::Test {
 protected:
  /// A pool may not be moved: it is opened where it stays.
  struct holder {
    holder(const std::string& path, const pool_options& options)
        : pool(logged_pool::open_or_create(path, options)) {}
    logged_pool pool;
  };

  logged_pool& open(const pool_options& options = small) {
    pool_.reset();
    pool_ = std::make_unique<holder>(path(), options);
    return pool_->pool;
  }
  logged_pool& pool() { return pool_->pool; }
  void close() {
    pool_->pool.close();
    pool_.reset();
  }
  /// What a kill leaves: the two files.
  void abandon() { pool_.reset(); }

  [[nodiscard]] std::string path() const { return (folder_.path() / "p").string(); }
  [[nodiscard]] std::string log_path() const { return pool_detail::log_path_of(path()); }

  /// Why the pool cannot be opened, and that nothing was changed by the attempt.
  std::optional<errc> refusal(const pool_options& options = small) {
    const bytes before = content_of(path());
    const bytes log_before = content_of(log_path());
    try {
      open(options);
    } catch (const error& failure) {
      message_ = failure.what();
      EXPECT_EQ(content_of(path()), before) << "the pool was changed: " << message_;
      EXPECT_EQ(content_of(log_path()), log_before) << "the log was changed: " << message_;
      return failure.reason();
    }
    return std::nullopt;
  }
  void expect_both_names() const {
    EXPECT_NE(message_.find(path() + ":"), std::string::npos) << message_;
    EXPECT_NE(message_.find(log_path()), std::string::npos) << message_;
  }

  /// Three batches after a checkpoint, and a kill.
  void leave_three_batches() {
    open();
    logged_file::checkpoint(word_at(pool(), 0));
    for (std::uint64_t value = 1; value <= 3; ++value) set(pool(), 0, value);
    abandon();
  }
  [[nodiscard]] static std::uint64_t offset_of_batch(std::uint64_t number) {
    return first_batch_offset + number * page_bytes;
  }

  test::scratch_folder folder_;
  std::unique_ptr<holder> pool_;
  std::string message_;
};

TEST_F(RedoLog, keeps_what_was_fenced_and_nothing_else) {
  open();
  set(pool(), 0, 42);
  *word_at(pool(), 1) = 43;
  abandon();
  open();
  EXPECT_TRUE(pool().was_dirty());
  EXPECT_EQ(*word_at(pool(), 0), 42U);
  EXPECT_EQ(*word_at(pool(), 1), 0U);
}

TEST_F(RedoLog, keeps_the_last_of_several_states_of_a_line) {
  open();
  for (std::uint64_t value = 1; value <= 5; ++value) set(pool(), 0, value);
  set(pool(), 0, 6, 1);
  abandon();
  open();
  EXPECT_EQ(*word_at(pool(), 0), 5U);
  EXPECT_EQ(*word_at(pool(), 0, 1), 6U);
}

TEST_F(RedoLog, stores_reach_the_file_through_the_log_alone) {
  open();
  *word_at(pool(), 0) = 42;
  const auto offset = reinterpret_cast<std::uintptr_t>(word_at(pool(), 0)) - pool().base();
  EXPECT_EQ(content_of(path())[offset], 0);
  set(pool(), 0, 42);
  EXPECT_EQ(content_of(path())[offset], 0);
  logged_file::checkpoint(word_at(pool(), 0));
  EXPECT_EQ(content_of(path())[offset], 42);
}

TEST_F(RedoLog, a_clean_close_leaves_the_file_alone_with_everything_in_it) {
  open();
  test::keep_words(pool());
  set(pool(), 0, 42);
  *word_at(pool(), 1) = 43;  // not flushed
  EXPECT_TRUE(std::filesystem::exists(log_path()));
  close();
  EXPECT_FALSE(std::filesystem::exists(log_path()));
  auto other = basic_pool<domain::process>::open(path());
  EXPECT_FALSE(other.was_dirty());
  EXPECT_EQ(*word_at(other, 0), 42U);
  EXPECT_EQ(*word_at(other, 1), 43U);
}

TEST_F(RedoLog, of_a_killed_process_is_brought_in_under_every_domain) {
  open();
  set(pool(), 0, 42);
  abandon();
  {
    auto other = basic_pool<domain::file>::open(path());
    EXPECT_TRUE(other.was_dirty());
    EXPECT_EQ(*word_at(other, 0), 42U);
    EXPECT_FALSE(std::filesystem::exists(log_path()));
  }
  auto third = outlast::pool::open(path());
  EXPECT_EQ(*word_at(third, 0), 42U);
}

TEST_F(RedoLog, comes_and_goes_with_the_domain) {
  test::create_with_words<domain::process>(path(), small);
  open();
  EXPECT_EQ(pool().survives(), domain::kind::logged_file);
  EXPECT_NE(pool().guarantee().find("power cuts"), std::string::npos);
  set(pool(), 0, 2);
  close();
  auto third = basic_pool<domain::adr>::open(path());
  EXPECT_EQ(*word_at(third, 0), 2U);
}

TEST_F(RedoLog, a_pool_killed_under_another_domain_goes_on_under_this_one) {
  {
    auto first = basic_pool<domain::file>::create(path(), small);
    *word_at(first, 0) = 1;
    domain::persist<domain::file>(word_at(first, 0), 8);
  }
  open();
  EXPECT_TRUE(pool().was_dirty());
  EXPECT_EQ(*word_at(pool(), 0), 1U);
}

TEST_F(RedoLog, lies_beside_the_file_that_a_link_leads_to) {
  basic_pool<domain::process>::create(path(), small).close();
  std::filesystem::create_directory(folder_.path() / "links");
  const std::string link = (folder_.path() / "links" / "p").string();
  std::filesystem::create_symlink(path(), link);
  {
    auto pool = logged_pool::open(link, small);
    set(pool, 0, 42);
  }
  EXPECT_TRUE(std::filesystem::exists(log_path()));
  open();
  EXPECT_EQ(*word_at(pool(), 0), 42U);
}

TEST_F(RedoLog, a_second_opener_is_refused) {
  open();
  EXPECT_THROW((void)logged_pool::open(path()), error);
  EXPECT_THROW((void)basic_pool<domain::process>::open(path()), error);
}

TEST_F(RedoLog, operations_that_sync_one_by_one_have_to_be_asked_for) {
  open();
  EXPECT_THROW(pool().require_per_operation_durability(), error);
  pool_options asked = small;
  asked.per_operation_device_sync = true;
  open(asked);
  EXPECT_NO_THROW(pool().require_per_operation_durability());
}

TEST_F(RedoLog, a_batch_torn_at_any_byte_was_never_there) {
  leave_three_batches();
  const bytes pool_before = content_of(path());
  const bytes log_before = content_of(log_path());
  const std::size_t begin = offset_of_batch(2);
  for (std::size_t at = begin; at < begin + page_bytes; at += at < begin + 192 ? 1 : 61) {
    bytes cut = log_before;
    cut.resize(at);
    bytes zeroed = cut;
    zeroed.resize(log_before.size());
    bytes flipped = log_before;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    for (const bytes& corrupted : {cut, zeroed, flipped}) {
      write_content(path(), pool_before);
      write_content(log_path(), corrupted);
      // A batch ends in zeros: whoever cuts those off, and writes zeros there, changes nothing.
      const std::uint64_t expected = corrupted == log_before ? 3 : 2;
      auto found = basic_pool<domain::process>::open(path());
      ASSERT_EQ(*word_at(found, 0), expected) << "byte " << at - begin;
    }
  }
}

TEST_F(RedoLog, goes_on_behind_a_torn_batch) {
  leave_three_batches();
  bytes torn = content_of(log_path());
  torn[offset_of_batch(2) + 70] ^= 1;
  write_content(log_path(), torn);
  open();
  EXPECT_EQ(*word_at(pool(), 0), 2U);
  set(pool(), 0, 7);
  abandon();
  open();
  EXPECT_EQ(*word_at(pool(), 0), 7U);
}

TEST_F(RedoLog, with_damage_in_the_middle_is_refused_unless_the_rest_is_given_up) {
  leave_three_batches();
  bytes corrupted = content_of(log_path());
  corrupted[offset_of_batch(1) + 100] ^= 1;
  write_content(log_path(), corrupted);
  EXPECT_EQ(refusal(), errc::corrupted);
  expect_both_names();
  pool_options salvage = small;
  salvage.salvage = true;
  open(salvage);
  EXPECT_EQ(*word_at(pool(), 0), 1U);
  set(pool(), 1, 9);  // where the second batch was: the third must not seem to follow
  abandon();
  open();
  EXPECT_EQ(*word_at(pool(), 0), 1U);
  EXPECT_EQ(*word_at(pool(), 1), 9U);
}

TEST_F(RedoLog, of_another_pool_is_refused) {
  leave_three_batches();
  std::filesystem::rename(path(), path() + ".away");
  EXPECT_THROW((void)logged_pool::create(path(), small), error);
  EXPECT_FALSE(std::filesystem::exists(path())) << "half a pool was created";
  basic_pool<domain::process>::create(path(), small).close();
  EXPECT_EQ(refusal(), errc::refused);
  expect_both_names();
  // Who needs no log does not mind it.
  basic_pool<domain::process>::open(path()).close();
  EXPECT_TRUE(std::filesystem::exists(log_path()));
}

TEST_F(RedoLog, that_is_none_is_refused_by_those_who_need_one) {
  basic_pool<domain::process>::create(path(), small).close();
  write_content(log_path(), bytes(100, 'x'));
  basic_pool<domain::process>::open(path()).close();
  EXPECT_EQ(refusal(), errc::refused);
  expect_both_names();
}

TEST_F(RedoLog, that_is_missing_is_asked_for) {
  leave_three_batches();
  const bytes log = content_of(log_path());
  std::filesystem::remove(log_path());
  EXPECT_EQ(refusal(), errc::corrupted);
  expect_both_names();
  EXPECT_THROW((void)basic_pool<domain::process>::open(path()), error);
  write_content(log_path(), log);
  open();
  EXPECT_EQ(*word_at(pool(), 0), 3U);
}

TEST_F(RedoLog, that_is_missing_can_be_done_without_by_salvage) {
  leave_three_batches();
  std::filesystem::remove(log_path());
  pool_options salvage = small;
  salvage.salvage = true;
  EXPECT_NO_THROW(open(salvage));
}

TEST_F(RedoLog, with_a_corrupted_header_is_refused) {
  leave_three_batches();
  const bytes before = content_of(log_path());
  for (std::size_t at = 0; at < sizeof(pool_format::log_header); ++at) {
    bytes corrupted = before;
    corrupted[at] ^= 1;
    write_content(log_path(), corrupted);
    ASSERT_NE(refusal(), std::nullopt) << "byte " << at;
  }
  for (const std::size_t length : {0U, 1U, 63U, 64U, 4096U, 12287U}) {
    write_content(log_path(), bytes(before.begin(), before.begin() + length));
    ASSERT_NE(refusal(), std::nullopt) << length << " bytes";
    expect_both_names();
  }
}

TEST_F(RedoLog, of_a_later_version_is_refused) {
  leave_three_batches();
  bytes later = content_of(log_path());
  pool_format::log_header header;
  std::memcpy(&header, later.data(), sizeof header);
  ++header.format_version;
  pool_format::seal(header);
  std::memcpy(later.data(), &header, sizeof header);
  write_content(log_path(), later);
  EXPECT_EQ(refusal(), errc::newer_version);
  expect_both_names();
}

TEST_F(RedoLog, that_lost_one_note_of_its_beginning_has_the_other) {
  leave_three_batches();
  const bytes before = content_of(log_path());
  const bytes pool_before = content_of(path());
  for (const std::uint64_t start : pool_format::start_offsets) {
    bytes corrupted = before;
    corrupted[start] ^= 1;
    write_content(path(), pool_before);
    write_content(log_path(), corrupted);
    // The older one says where the log was once: nothing follows there, or it is refused.
    const std::optional<errc> why = refusal();
    EXPECT_TRUE(!why || *why == errc::corrupted) << message_;
    if (!why) {
      EXPECT_EQ(*word_at(pool(), 0), 3U);
    }
    abandon();
  }
}

TEST_F(RedoLog, is_not_applied_to_an_older_file) {
  open();
  close();
  const bytes backup = content_of(path());
  leave_three_batches();
  write_content(path(), backup);
  EXPECT_EQ(refusal(), errc::corrupted);
  expect_both_names();
}

TEST_F(RedoLog, is_reported_by_a_check_of_the_file) {
  leave_three_batches();
  bool reported = false;
  for (const pool_format::finding& each : pool_format::check_file(path())) {
    EXPECT_NE(each.level, pool_format::severity::error) << each.sentence;
    reported = reported || each.sentence.find(log_path()) != std::string::npos;
  }
  EXPECT_TRUE(reported);
}

TEST_F(RedoLog, is_emptied_when_it_is_full) {
  open();
  for (std::uint64_t value = 1; value <= 100; ++value) set(pool(), value % 7, value);
  const domain::log_counters spent = logged_file::counters(word_at(pool(), 0));
  EXPECT_GT(spent.checkpoints, 5U);
  EXPECT_LE(std::filesystem::file_size(log_path()), first_batch_offset + small.log_bytes);
  abandon();
  open();
  for (std::uint64_t value = 94; value <= 100; ++value) {
    EXPECT_EQ(*word_at(pool(), value % 7), value);
  }
}

constexpr pool_options growing{.size_bytes = 1 << 20,
                               .capacity_bytes = 4 << 20,
                               .log_bytes = 64 << 10,
                               .max_log_bytes = 100 << 10};

/// So many batches, each with a word of each of 64 pages: of these a checkpoint writes much more
/// than the log holds.
void change_a_little_of_many_pages(logged_pool& pool, std::uint64_t batches) {
  for (std::uint64_t value = 1; value <= batches; ++value) {
    for (std::uint64_t page = 0; page < 64; ++page) {
      std::uint64_t* const at = word_at(pool, page);
      *at = value;
      domain::flush<logged_file>(at, sizeof *at);
    }
    domain::fence<logged_file>();
  }
}

TEST_F(RedoLog, grows_where_a_checkpoint_writes_much_more_than_it_holds) {
  open(growing);
  change_a_little_of_many_pages(pool(), 60);
  EXPECT_EQ(std::filesystem::file_size(log_path()), first_batch_offset + growing.max_log_bytes);
  const std::uint64_t spent = logged_file::counters(word_at(pool(), 0)).checkpoints;
  change_a_little_of_many_pages(pool(), 100);
  // 8 KiB for each batch.
  EXPECT_LE(logged_file::counters(word_at(pool(), 0)).checkpoints - spent, 100U / 12 + 1);
  abandon();
  open(growing);
  for (std::uint64_t page = 0; page < 64; ++page) EXPECT_EQ(*word_at(pool(), page), 100U);
}

TEST_F(RedoLog, stays_as_it_is_where_pages_are_changed_as_a_whole_and_unless_it_may_grow) {
  open(growing);
  for (int i = 0; i < 200; ++i) {
    std::uint64_t* const page = word_at(pool(), i % 8);
    std::fill(page, page + page_bytes / sizeof *page, i);
    domain::persist<logged_file>(page, page_bytes);
  }
  EXPECT_GT(logged_file::counters(word_at(pool(), 0)).checkpoints, 5U);
  EXPECT_EQ(std::filesystem::file_size(log_path()), first_batch_offset + growing.log_bytes);
  open(small);
  change_a_little_of_many_pages(pool(), 60);
  EXPECT_EQ(std::filesystem::file_size(log_path()), first_batch_offset + small.log_bytes);
}

TEST_F(RedoLog, stays_as_it_is_where_there_is_no_space_to_grow) {
  open(growing);
  pool_detail::test_hooks().fallocate_fails = ENOSPC;
  EXPECT_NO_THROW(change_a_little_of_many_pages(pool(), 60));
  pool_detail::test_hooks() = {};
  EXPECT_EQ(std::filesystem::file_size(log_path()), first_batch_offset + growing.log_bytes);
  abandon();
  open(growing);
  for (std::uint64_t page = 0; page < 64; ++page) EXPECT_EQ(*word_at(pool(), page), 60U);
}

TEST_F(RedoLog, holds_a_batch_that_is_larger_than_it_was_made_for) {
  open();
  set(pool(), 0, 1);  // the log is not empty: there is a checkpoint in front of the batch
  const std::size_t size = 100 * page_bytes;
  auto* const first = reinterpret_cast<char*>(word_at(pool(), 120));
  std::memset(first, 'a', size);
  domain::persist<logged_file>(first, size);
  abandon();
  open();
  EXPECT_EQ(bytes(first, first + size), bytes(size, 'a'));
  EXPECT_EQ(*word_at(pool(), 0), 1U);
}

TEST_F(RedoLog, counts_what_it_writes_to_the_byte) {
  open();
  const auto before = logged_file::counters(word_at(pool(), 0));
  // Payloads of 1 KB at odd places, as an epoch leaves them.
  std::uint64_t lines = 0;
  for (std::uint32_t i = 0; i < 64; ++i) {
    std::uint64_t* const payload = word_at(pool(), i, 2);
    std::memset(payload, 1, 1072);
    domain::flush<logged_file>(payload, 1072);
    lines += 17;
  }
  domain::fence<logged_file>();
  const auto after = logged_file::counters(word_at(pool(), 0));
  EXPECT_EQ(after.lines - before.lines, lines);
  EXPECT_EQ(after.batches - before.batches, 1U);
  const std::uint64_t of_checkpoint = (after.checkpoints - before.checkpoints) * page_bytes;
  EXPECT_EQ(after.log_bytes - before.log_bytes - of_checkpoint,
            pool_format::batch_bytes(64, lines));
  EXPECT_LT(static_cast<double>(after.log_bytes - before.log_bytes), 1.2 * 64.0 * 17.0 * 64.0);
}

TEST_F(RedoLog, moves_with_the_pool) {
  leave_three_batches();
  pool_options elsewhere = small;
  elsewhere.base_address = 0x5530'0000'0000;
  open(elsewhere);
  EXPECT_EQ(pool().base(), elsewhere.base_address);
  EXPECT_EQ(*word_at(pool(), 0), 3U);
  set(pool(), 0, 4);
  abandon();
  open();
  EXPECT_EQ(*word_at(pool(), 0), 4U);
}

TEST_F(RedoLog, holds_what_lies_where_the_pool_has_grown) {
  open();
  pool().grow(3 << 20);
  set(pool(), 0, 42);
  abandon();
  open();
  EXPECT_EQ(pool().size_bytes(), std::size_t{3} << 20);
  EXPECT_EQ(*word_at(pool(), 0), 42U);
}

TEST_F(RedoLog, of_a_device_that_has_failed_poisons_the_pool) {
  open();
  set(pool(), 0, 1);
  {
    const failing_device failing(0);
    EXPECT_THROW(set(pool(), 0, 2), error);
  }
  EXPECT_TRUE(logged_file::poisoned(word_at(pool(), 0)));
  try {
    set(pool(), 1, 3);
    ADD_FAILURE() << "a poisoned pool accepted a write";
  } catch (const error& failure) {
    EXPECT_EQ(failure.reason(), errc::io_failure);
    EXPECT_NE(std::string(failure.what()).find("Input/output error"), std::string::npos);
  }
  EXPECT_THROW(close(), error);
  open();
  EXPECT_EQ(*word_at(pool(), 0), 1U);
  EXPECT_EQ(*word_at(pool(), 1), 0U);
}

/// Steps of a life: words are set in turn until the device gives up. Returns the last value that
/// was acknowledged.
std::uint64_t write_while_it_lives(const std::string& path, std::uint64_t from) {
  std::uint64_t acknowledged = from;
  try {
    auto pool = logged_pool::open_or_create(path, {.size_bytes = 1 << 20, .log_bytes = 16 << 10});
    for (std::uint64_t value = from + 1; value <= from + 12; ++value) {
      set(pool, value % 3, value);
      acknowledged = value;
    }
    pool.close();
  } catch (const error& failure) {
    EXPECT_TRUE(failure.reason() == errc::io_failure) << failure.what();
  }
  return acknowledged;
}

TEST_F(RedoLog, survives_a_device_that_stops_at_any_step) {
  test::create_with_words<domain::process>(path(), small);
  std::uint64_t acknowledged = 0;
  std::uint64_t checked = 0;
  for (std::uint64_t allowed = 0;; ++allowed) {
    bool survived = false;
    {
      const failing_device device(allowed);
      const std::uint64_t last = write_while_it_lives(path(), acknowledged);
      survived = device.steps <= allowed;
      acknowledged = last;
    }
    if (allowed > 0) {
      auto found = basic_pool<domain::process>::open(path());
      std::uint64_t newest = 0;
      for (std::uint32_t page = 0; page < 3; ++page) {
        newest = std::max(newest, *word_at(found, page));
      }
      // What was not acknowledged may be there all the same.
      ASSERT_TRUE(newest == acknowledged || newest == acknowledged + 1)
          << "after " << allowed << " steps " << newest << " is there, and " << acknowledged
          << " was acknowledged";
      for (std::uint64_t value = acknowledged; value + 3 > acknowledged && value != 0; --value) {
        ASSERT_GE(*word_at(found, value % 3), value) << "after " << allowed << " steps";
      }
      acknowledged = newest;
      ++checked;
      found.close();
    }
    if (survived) break;
  }
  EXPECT_GT(checked, 40U);
}

TEST_F(RedoLog, never_has_a_published_word_without_its_lines) {
  EXPECT_EQ(test::complaint_of_published_words(path()), "");
}

/// Each line becomes durable in a batch of its own, before or after its word.
template <bool lines_first>
struct torn_log : domain::logged_file {
  static void publish(std::atomic<std::uint64_t>& word, std::uint64_t value,
                      std::span<const domain::line_store> lines) {
    if (!lines_first) domain::logged_file::publish(word, value);
    for (const domain::line_store& each : lines) {
      std::memcpy(each.line, each.content, 64);
      pwb(each.line);
      psync();
    }
    if (lines_first) domain::logged_file::publish(word, value);
  }
};
TEST_F(RedoLog, never_takes_a_word_and_lines_that_were_given_with_it_apart) {
  EXPECT_EQ(test::complaint_of_lines_with_words<domain::logged_file>(path()), "");
  EXPECT_NE(test::complaint_of_lines_with_words<torn_log<true>>(path()), "");
  EXPECT_NE(test::complaint_of_lines_with_words<torn_log<false>>(path()), "");
}

/// Fails one write of a log, and is well again.
class faltering_device final : public pool_detail::log_device {
 public:
  faltering_device() { pool_detail::test_hooks().device = this; }
  ~faltering_device() override { pool_detail::test_hooks().device = nullptr; }
  faltering_device(const faltering_device&) = delete;
  faltering_device& operator=(const faltering_device&) = delete;

  int write(const std::string& path, int fd, std::uint64_t offset, const void* from,
            std::size_t size) override {
    return std::exchange(fails_next, false)
               ? EIO
               : pool_detail::log_device::write(path, fd, offset, from, size);
  }
  bool fails_next = false;
};

TEST_F(RedoLog, makes_no_checkpoint_once_a_batch_has_failed) {
  faltering_device device;
  {
    auto pool = basic_pool<domain::logged_file>::create(
        path(), {.size_bytes = 1 << 20, .log_bytes = 16 << 10});
    auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(test::word_at(pool, 0));
    domain::logged_file::publish(word, 1);
    device.fails_next = true;
    EXPECT_THROW(domain::logged_file::publish(word, 2), error);
    EXPECT_THROW(domain::logged_file::checkpoint(&word), error);
  }
  auto pool = basic_pool<domain::process>::open(path());
  EXPECT_EQ(*test::word_at(pool, 0), 1U);
}

TEST_F(RedoLog, survives_a_replay_that_stops_at_any_step) {
  leave_three_batches();
  const bytes pool_before = content_of(path());
  const bytes log_before = content_of(log_path());
  for (std::uint64_t allowed = 0;; ++allowed) {
    write_content(path(), pool_before);
    write_content(log_path(), log_before);
    bool survived = true;
    {
      const failing_device device(allowed);
      try {
        auto found = basic_pool<domain::process>::open(path());
        EXPECT_EQ(*word_at(found, 0), 3U);
      } catch (const error&) {
        survived = false;
      }
    }
    open();
    ASSERT_EQ(*word_at(pool(), 0), 3U) << "after " << allowed << " steps";
    abandon();
    if (survived) break;
  }
}

TEST_F(RedoLog, serves_threads_that_fence_at_once) {
  constexpr std::uint32_t threads = 4;
  constexpr std::uint64_t rounds = 200;
  open();
  std::vector<std::thread> crew;
  for (std::uint32_t t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] {
      // All in one page, each in a line of its own.
      for (std::uint64_t value = 1; value <= rounds; ++value) set(pool(), 0, value, 8 * t);
    });
  }
  for (std::thread& each : crew) each.join();
  abandon();
  open();
  for (std::uint32_t t = 0; t < threads; ++t) EXPECT_EQ(*word_at(pool(), 0, 8 * t), rounds);
}

}  // namespace
}  // namespace outlast
