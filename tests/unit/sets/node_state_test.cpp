// Goal: verdicts are what docs/formats/sets.md says, and recovery believes the right ones. Method:
// words, and versions made up by hand.
#include <outlast/domain/process.hpp>
#include <outlast/sets/detail/node_state.hpp>
#include <outlast/sets/detail/set_session.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace outlast::sets::detail {
namespace {

TEST(node_state, has_the_bits_that_the_format_names) {
  EXPECT_EQ(node_state::none().word(), 0U);
  EXPECT_EQ(node_state::live(1).word(), 0x9U);
  EXPECT_EQ(node_state::live(1).durable().word(), 0xdU);
  EXPECT_EQ(node_state::live(2).dead().word(), 0x12U);
  EXPECT_EQ(node_state::live(2).dead().durable().word(), 0x16U);
  EXPECT_EQ(node_state::superseded().word(), 3U);
  EXPECT_EQ(node_state::live((std::uint64_t{1} << 61) - 1).stamp(), (std::uint64_t{1} << 61) - 1);
}

TEST(node_state, says_one_thing) {
  const auto says = [](node_state v) {
    return std::string(v.is_none() ? "n" : "") + (v.is_live() ? "l" : "") +
           (v.is_dead() ? "d" : "") + (v.is_superseded() ? "s" : "") + (v.is_durable() ? "!" : "");
  };
  EXPECT_EQ(says(node_state::none()), "n");
  EXPECT_EQ(says(node_state::live(5)), "l");
  EXPECT_EQ(says(node_state::live(5).durable()), "l!");
  EXPECT_EQ(says(node_state::live(5).durable().dead()), "d") << "a flush of live is none of dead";
  EXPECT_EQ(says(node_state::live(5).dead().durable()), "d!");
  EXPECT_EQ(says(node_state::superseded()), "s");
}

/// docs/formats/sets.md. The offsets follow: no member is less than a word.
using u64 = std::uint64_t;
using here = domain::process;
static_assert(sizeof(stored_state<here>) == 8 && sizeof(distant_bytes<u64, here>) == 16);
static_assert(sizeof(line_record<u64, u64, here>) == 24);
static_assert(sizeof(line_record<u64, no_value, here>) == 16);
static_assert(sizeof(line_node<u64, u64, here>) == 32);
static_assert(sizeof(distant_record<u64, std::string, here>) == 48);
static_assert(sizeof(line_node<u64, std::string, here>) == 56);

TEST(line_node, has_its_parts_where_the_format_says) {
  alignas(8) u64 words[4] = {};
  auto* const node =
      ::new (words) line_node<u64, u64, here>(u64{7}, u64{42}, domain::site::current());
  node->next.init({});
  node->store_live(3);
  EXPECT_EQ(words[0], 0U);
  EXPECT_EQ(words[1], node_state::live(3).word());
  EXPECT_EQ(words[2], 7U);
  EXPECT_EQ(words[3], 42U);
}

TEST(distant_record, has_its_parts_where_the_format_says) {
  alignas(8) std::byte data[16];
  alignas(8) u64 words[6] = {};
  auto* const record =
      ::new (words) distant_record<u64, std::string, here>(data, 7, "abc", domain::site::current());
  EXPECT_EQ(words[0], 0U);
  // A distance from the word that holds it, of either sign.
  const auto leads_to = [&](std::size_t word) {
    return reinterpret_cast<std::uintptr_t>(&words[word]) + words[word];
  };
  EXPECT_EQ(leads_to(1), reinterpret_cast<std::uintptr_t>(data));
  EXPECT_EQ(words[2], 8U);
  EXPECT_EQ(leads_to(3), reinterpret_cast<std::uintptr_t>(data + 8));
  EXPECT_EQ(words[4], 3U);
  EXPECT_EQ(record->key.get(), 7U);
  EXPECT_EQ(record->value.get(), "abc");
  EXPECT_EQ(data[11], std::byte{0}) << "the gap";
}

TEST(storable, is_what_means_the_same_in_every_process) {
  struct alignas(16) wide_word {
    u64 words[2];
  };
  EXPECT_TRUE(storable<u64> && storable<std::string> && storable<no_value>);
  EXPECT_FALSE(storable<wide_word> || survives<const char*> || survives<std::string_view>);
}

TEST(line_node, is_over_for_lookups_for_ever_also_where_somebody_buries_it_late) {
  line_node<std::uint64_t, std::uint64_t, domain::process> node(1, 2, domain::site::current());
  EXPECT_EQ(node.seen(), phase::not_yet);
  node.store_live(5);
  EXPECT_EQ(node.seen(), phase::not_yet);
  node.note_durable(node.state());
  node.store_dead();
  EXPECT_EQ(node.seen(), phase::current) << "the burial may not survive";
  node.note_durable(node.state());
  EXPECT_EQ(node.seen(), phase::over);
  node.store_dead();
  EXPECT_EQ(node.seen(), phase::over);
  EXPECT_EQ(node.state(), node_state::live(5).dead().durable());
}

struct made_up {
  int key;
  std::string name;
};
using found_version = version<made_up, int>;

/// Names of the versions that count, and of those that are outranked.
std::string judged(std::vector<found_version> found) {
  std::vector<made_up*> outranked;
  std::string names;
  select_valid_versions(
      std::span(found), [](int one, int other) { return one == other; },
      [](const made_up& one, const made_up& other) { return one.key == other.key; }, outranked,
      [&](const found_version& each) { names += each.stored->name; });
  names += '/';
  for (const made_up* each : outranked) names += each->name;
  return names;
}

TEST(latest_versions, are_those_with_the_greatest_stamp_of_their_key) {
  made_up a{1, "a"}, b{1, "b"}, c{1, "c"}, d{2, "d"};
  const auto live = [](std::uint64_t stamp) { return node_state::live(stamp); };
  EXPECT_EQ(judged({}), "/");
  EXPECT_EQ(judged({{1, &a, live(4)}}), "a/");
  EXPECT_EQ(judged({{1, &a, live(4).dead()}}), "/");
  EXPECT_EQ(judged({{1, &a, live(4)}, {1, &b, live(5)}}), "b/a");
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &b, live(5)}}), "a/b");
  EXPECT_EQ(judged({{1, &a, live(4)}, {1, &b, live(5).dead()}}), "/a");
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &b, live(5).dead()}}), "a/");
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &b, live(5).dead()}, {1, &c, live(2)}}), "a/c");
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &d, live(7).dead()}}), "a/") << "another key";
  EXPECT_EQ(judged({{1, &a, live(6)}, {1, &d, live(9)}, {1, &b, live(7)}}), "db/a");
  EXPECT_EQ(judged({{1, &a, live(1)}, {2, &d, live(9)}}), "ad/") << "another place";
}

}  // namespace
}  // namespace outlast::sets::detail
