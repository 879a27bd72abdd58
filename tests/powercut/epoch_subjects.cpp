#include <tests/powercut/epoch_subjects.hpp>

#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/lockfree_hash_map.hpp>
#include <outlast/epoch/lockfree_list.hpp>
#include <outlast/epoch/lockfree_queue.hpp>
#include <outlast/epoch/ordered_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <tests/powercut/kill_subjects.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace outlast::test::powercut {
namespace {

template <class Map>
definition map_called(const char* name) {
  return define_buffered<buffered_map_subject<Map>, buffered_map_judge>(
      name, Map::policy_type::domain_type::name());
}
template <class Queue>
definition queue_called(const char* name) {
  return define_buffered<buffered_queue_subject<Queue>, buffered_queue_judge>(
      name, Queue::policy_type::domain_type::name());
}

}  // namespace

std::vector<definition> epoch_definitions() {
  using domain::native;
  using domain::process;
  using std::string;
  using u64 = std::uint64_t;
  return {
      map_called<epoch::hash_map<u64, u64, native>>("buffered_map"),
      map_called<epoch::hash_map<string, string, process>>("buffered_map_of_strings"),
      queue_called<epoch::queue<u64, native>>("buffered_queue"),
      queue_called<epoch::queue<string, process>>("buffered_queue_of_strings"),
      map_called<epoch::lockfree_hash_map<u64, u64, native>>("lockfree_map"),
      map_called<epoch::lockfree_hash_map<string, string, process>>("lockfree_map_of_strings"),
      map_called<epoch::ordered_map<u64, string, native>>("ordered_map"),
      queue_called<epoch::lockfree_queue<u64, native>>("lockfree_queue"),
  };
}

}  // namespace outlast::test::powercut
