// Goal: who erases a range in a store whose tree is damaged is told so, and waits for no end that
// does not come.
// Method: a store in ordinary memory, in which the head of one key is made that of another one:
// walks meet the key, searches do not find it.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace outlast::store_detail {
namespace {

TEST(DamagedStore, erases_no_range_for_ever) {
  memory_file memory;
  store_options wanted;
  wanted.kind = engine_kind::replicas;
  wanted.may_create = true;
  wanted.capacity_bytes = std::size_t{1} << 20;
  wanted.replicas = 2;
  const auto store = open_memory_store(wanted, memory);
  for (const char* const key : {"aaaa", "bbbb", "cccc"}) store->put(key, "value", false);
  store->put("aaaa", "other", false);  // in place: who repeats it repeats no head

  const std::array<std::uint32_t, 3> heads = {0x61616161, 0x62626262, 0x63636363};
  std::array<std::byte, sizeof heads> pattern{};
  std::memcpy(pattern.data(), heads.data(), sizeof heads);
  std::byte* const end = memory.memory.data() + memory.bytes;
  int corrupted = 0;
  for (std::byte* at = memory.memory.data();
       (at = std::search(at, end, pattern.begin(), pattern.end())) != end; at += sizeof heads) {
    const std::uint32_t wrong = 0x62626263;
    std::memcpy(at + sizeof wrong, &wrong, sizeof wrong);
    ++corrupted;
  }
  ASSERT_GT(corrupted, 0);

  changes all;
  all.erase_range("b", "c");
  try {
    store->apply(std::move(all), false);
    ADD_FAILURE() << "erased what is not found";
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::corrupted);
    EXPECT_NE(std::string(refused.what()).find("not at its place"), std::string::npos);
  }
  EXPECT_EQ(store->keys(), 3U);
}

}  // namespace
}  // namespace outlast::store_detail
