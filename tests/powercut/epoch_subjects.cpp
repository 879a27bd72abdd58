#include <tests/powercut/epoch_subjects.hpp>

#include <outlast/domain/native.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/epoch/queue.hpp>
#include <tests/powercut/kill_subjects.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace outlast::test::powercut {
namespace {

template <class Key, class Value, class D>
definition map_called(const char* name) {
  return define_buffered<buffered_map_subject<epoch::hash_map<Key, Value, D>>, buffered_map_judge>(
      name, D::name());
}
template <class Value, class D>
definition queue_called(const char* name) {
  return define_buffered<buffered_queue_subject<epoch::queue<Value, D>>, buffered_queue_judge>(
      name, D::name());
}

}  // namespace

std::vector<definition> epoch_definitions() {
  return {
      map_called<std::uint64_t, std::uint64_t, domain::native>("buffered_map"),
      map_called<std::string, std::string, domain::process>("buffered_map_of_strings"),
      queue_called<std::uint64_t, domain::native>("buffered_queue"),
      queue_called<std::string, domain::process>("buffered_queue_of_strings"),
  };
}

}  // namespace outlast::test::powercut
