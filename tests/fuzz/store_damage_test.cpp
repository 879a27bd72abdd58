// Goal: for every corruption of a store's files, opening, reading, writing, copying and repair end
// with a status, never with a crash or a hang. Each entry that a repair keeps was written before.
// A repair of records keeps all keys whose newest record is intact.
// Method: valid stores of both engines, closed and killed, in memory and on a disk. Random words of
// their files are changed, and the essential words on purpose: corrupted_store.hpp. Child processes
// use them one after the other; a child that ends early names the store that caused it.
// OUTLAST_SPOILT_STORES is the number of stores of each kind, OUTLAST_SPOILT_SEED the first.
#include <tests/fuzz/corrupted_store.hpp>
#include <tests/support/sanitizer.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast::fuzz {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What children leave, however they end.
struct shared_counts {
  std::uint64_t begun;
  std::uint64_t opened;
  std::uint64_t read;
  std::uint64_t written;
  std::uint64_t repaired;
};

class shared_page {
 public:
  shared_page()
      : at_(::mmap(nullptr, sizeof(shared_counts), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) std::abort();
  }
  ~shared_page() { ::munmap(at_, sizeof(shared_counts)); }
  shared_page(const shared_page&) = delete;
  shared_page& operator=(const shared_page&) = delete;
  [[nodiscard]] shared_counts& operator*() const { return *static_cast<shared_counts*>(at_); }

 private:
  void* at_;
};

/// Runs a child on the stores from `first` to before `end`. Returns its exit status.
int use_all(std::size_t good, std::uint64_t first, std::uint64_t end, shared_counts& counts) {
  constexpr unsigned max_seconds = 60;
  for (std::uint64_t seed = first; seed < end; ++seed) {
    counts.begun = seed;
    ::alarm(max_seconds);
    try {
      const store_outcome got = exercise(random_recipe(good, seed));
      counts.opened += got.opened ? 1 : 0;
      counts.read += got.read ? 1 : 0;
      counts.written += got.written ? 1 : 0;
      counts.repaired += got.repaired ? 1 : 0;
    } catch (const std::exception& broken) {
      std::cerr << broken.what() << '\n';
      return 1;
    }
  }
  return 0;
}

TEST(StoreCorpus, breaks_nothing) {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator(OUTLAST_STORE_CORPUS)) {
    SCOPED_TRACE(each.path().filename().string());
    std::ifstream in(each.path(), std::ios::binary);
    const std::vector<std::uint8_t> bytes(std::istreambuf_iterator<char>(in), {});
    try {
      static_cast<void>(exercise(decode_store(bytes)));
    } catch (const std::exception& escaped) {
      ADD_FAILURE() << escaped.what();
    }
    ++count;
  }
  EXPECT_GT(count, 20U);
}

class CorruptedStore : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(each, CorruptedStore, testing::Range(std::size_t{0}, good_stores().size()),
                         [](const auto& of) { return std::string(good_stores()[of.param]); });

TEST_P(CorruptedStore, without_a_corrupted_word_is_read_written_and_repaired) {
  for (const bool checked : {false, true}) {
    const store_outcome got = exercise(
        {.good = GetParam(), .checked = checked, .copied = true, .repaired = true, .edits = {}});
    EXPECT_TRUE(got.opened && got.read && got.written && got.repaired);
  }
}

TEST_P(CorruptedStore, ends_nobody_who_uses_it) {
  const std::uint64_t first = number_from("OUTLAST_SPOILT_SEED", 1);
  const bool has_records = good_stores()[GetParam()].starts_with("records");
  // Behind a log an opening takes ten times as long.
  const bool has_log = good_stores()[GetParam()].starts_with("disk");
  constexpr std::uint64_t part = test::under_address_sanitizer ? 14 : 1;
  const std::uint64_t usual = has_log ? 100 : has_records ? 600 : 1400;
  const std::uint64_t count = number_from("OUTLAST_SPOILT_STORES", usual / part);
  const shared_page page;
  shared_counts& counts = *page;
  for (std::uint64_t next = first; next < first + count; next = counts.begun + 1) {
    const ::pid_t child = ::fork();
    if (child == 0) ::_exit(use_all(GetParam(), next, first + count, counts));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "OUTLAST_SPOILT_SEED=" << counts.begun << " OUTLAST_SPOILT_STORES=1";
  }
  std::cout << "of " << count << " corrupted stores " << counts.opened << " were opened, "
            << counts.read << " read and " << counts.written << " written without a complaint, "
            << counts.repaired << " repaired\n";
  if (count < 100) return;  // few tell nothing
  EXPECT_GT(counts.opened, count / 8);
  EXPECT_LT(counts.opened, count);
  EXPECT_GT(counts.read, count / 20);
  EXPECT_LT(counts.read, counts.opened);
  EXPECT_GT(counts.written, count / 20);
  // An opening reads all records, so that a store of records that was opened accepts all writes.
  if (!has_records) {
    EXPECT_LT(counts.written, counts.opened);
  }
  EXPECT_GT(counts.repaired, count / 8);
}

}  // namespace
}  // namespace outlast::fuzz
