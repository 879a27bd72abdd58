// Goal: tables in ordinary memory hash bytes under a secret key of the process. Method: the vectors
// of SipHash's authors, two processes that hash the same, and the order in which tables visit the
// same keys under two keys.
#include <outlast/base/keyed_hash.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/sets/link_free_hash.hpp>

#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace outlast {
namespace {

using text = std::array<char, 16>;

/// The key and the messages of the vectors: 0, 1, 2, ...
constexpr base::hash_key counted{0x0706050403020100, 0x0f0e0d0c0b0a0908};

std::string message(std::size_t length) {
  std::string bytes(length, '\0');
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

TEST(KeyedHash, yields_the_vectors_of_sip_hash_2_4) {
  EXPECT_EQ((base::sip_hash<2, 4>(counted, message(0))), 0x726fdb47dd0e0e31U);
  EXPECT_EQ((base::sip_hash<2, 4>(counted, message(1))), 0x74f839c593dc67fdU);
  EXPECT_EQ((base::sip_hash<2, 4>(counted, message(8))), 0x93f5f5799a932462U);
  EXPECT_EQ((base::sip_hash<2, 4>(counted, message(15))), 0xa129ca6149be45e5U);
}

TEST(KeyedHash, yields_the_vectors_of_sip_hash_1_3) {
  EXPECT_EQ((base::sip_hash<1, 3>(counted, message(0))), 0xabac0158050fc4dcU);
  EXPECT_EQ((base::sip_hash<1, 3>(counted, message(1))), 0xc9f49bf37d57ca93U);
}

/// What a process that begins now answers: its own program, asked for one hash.
std::string hash_of_another_process() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execl("/proc/self/exe", "keyed_hash_test", "--gtest_filter=KeyedHash.tells_its_hash",
            "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr);
    std::_Exit(1);
  }
  ::close(ends[1]);
  std::string output;
  std::array<char, 256> part{};
  for (::ssize_t n = 0; (n = ::read(ends[0], part.data(), part.size())) > 0;) {
    output.append(part.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::size_t at = output.find("hash=");
  return at == std::string::npos ? "no output: " + output : output.substr(at, 5 + 16);
}

TEST(KeyedHash, tells_its_hash) {
  std::printf("hash=%016llx\n", static_cast<unsigned long long>(base::keyed_hash("outlast")));
}

TEST(KeyedHash, differs_from_process_to_process) {
  const std::string one = hash_of_another_process();
  ASSERT_EQ(one.size(), 5 + 16U) << one;
  EXPECT_NE(one, hash_of_another_process());
}

TEST(KeyedHash, is_the_parents_in_a_forked_child) {
  const std::uint64_t mine = base::keyed_hash("outlast");
  const ::pid_t child = ::fork();
  if (child == 0) std::_Exit(base::keyed_hash("outlast") == mine ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

/// The order in which a table of `count` keys that is made now visits them.
template <class Table, class MakeKey>
std::vector<std::string> order_in(MakeKey&& key, int count) {
  const test::temp_directory directory;
  pool home = pool::create(directory.file("pool"));
  Table table(home, "table");
  for (int i = 0; i < count; ++i) table.put(key(i), std::uint64_t(i));
  std::vector<std::string> order;
  table.for_each([&](const auto& visited, const auto&) {
    order.emplace_back(visited.data(), visited.size());
  });
  return order;
}

template <class Table, class MakeKey>
void expect_other_order(MakeKey&& key) {
  constexpr int count = 200;
  base::fix_hash_key({1, 2});
  const auto one = order_in<Table>(key, count);
  const auto again = order_in<Table>(key, count);
  base::fix_hash_key({3, 4});
  const auto other = order_in<Table>(key, count);
  ASSERT_EQ(one.size(), std::size_t{count});
  EXPECT_EQ(one, again);
  EXPECT_NE(one, other);
}

text text_of(int number) {
  text bytes{};
  std::snprintf(bytes.data(), bytes.size(), "key-%d", number);
  return bytes;
}
std::string string_of(int number) { return "key-" + std::to_string(number); }

TEST(KeyedHash, orders_the_sets) {
  expect_other_order<sets::link_free_hash<text, std::uint64_t>>(text_of);
}

TEST(KeyedHash, orders_the_buffered_map) {
  expect_other_order<epoch::hash_map<std::string, std::uint64_t>>(string_of);
}

TEST(KeyedHash, orders_the_buffered_map_that_is_lock_free) {
  expect_other_order<epoch::lockfree_hash_map<std::string, std::uint64_t>>(string_of);
}

}  // namespace
}  // namespace outlast
