#include <tests/powercut/kill_subjects.hpp>

#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/sets/baselines/soft_in_place.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/sets/link_free_list.hpp>
#include <outlast/sets/link_free_skiplist.hpp>
#include <outlast/sets/link_free_tree.hpp>
#include <outlast/sets/soft_hash.hpp>
#include <outlast/sets/soft_list.hpp>
#include <outlast/sets/soft_skiplist.hpp>
#include <outlast/sets/soft_tree.hpp>
#include <tests/powercut/map_subject.hpp>

#include <cstdint>

namespace outlast::test::powercut {
namespace {

constexpr std::uint64_t few_keys = 50;
constexpr std::uint64_t many_keys = 5'000;

}  // namespace

std::vector<definition> set_definitions() {
  using key = std::uint64_t;
  return {
      define_map<sets::link_free_list<key, std::uint64_t, domain::process>>("link_free_list",
                                                                            few_keys),
      define_map<sets::link_free_list<key, sets::no_value, domain::process>>("link_free_list_set",
                                                                             few_keys),
      define_map<sets::link_free_hash<key, std::uint64_t, domain::native>>("link_free_hash",
                                                                           many_keys),
      define_map<sets::link_free_skiplist<key, std::uint64_t, domain::native>>("link_free_skiplist",
                                                                               many_keys),
      define_map<sets::soft_skiplist<key, std::uint64_t, domain::process>>("soft_skiplist",
                                                                           many_keys),
      define_map<sets::soft_list<key, std::uint64_t, domain::process>>("soft_list", few_keys),
      define_map<sets::soft_hash<key, std::uint64_t, domain::native>>("soft_hash", many_keys),
      define_map<sets::basic_hash<sets::soft_in_place<domain::native>, key, std::uint64_t>>(
          "soft_in_place_hash", many_keys),
      define_map<sets::link_free_tree<key, std::uint64_t, domain::native>>("link_free_tree",
                                                                           many_keys),
      define_map<sets::soft_tree<key, std::uint64_t, domain::process>>("soft_tree", many_keys),
      define_map<sets::basic_tree<sets::soft_in_place<domain::native>, key, std::uint64_t>>(
          "soft_in_place_tree", few_keys),
  };
}

}  // namespace outlast::test::powercut
