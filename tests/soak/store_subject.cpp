// The stores beside the pool.
#include <tests/soak/families.hpp>
#include <tests/soak/snapshot_subject.hpp>
#include <tests/soak/store_map.hpp>

namespace outlast::test::soak {

void add_store(subjects& to, db::DB& store, const amounts& how) {
  scale large{.operations = how.quick, .large = true, .has_replicas = true};
  large.number = static_cast<unsigned>(to.size());
  to.push_back(std::make_unique<snapshot_subject<store_map>>(
      "store", std::make_unique<store_map>(store), large));
}

void add_records(subjects& to, db::DB& store, const amounts& how) {
  scale large{.operations = how.quick, .large = true};
  large.number = static_cast<unsigned>(to.size());
  to.push_back(std::make_unique<snapshot_subject<store_map>>(
      "records", std::make_unique<store_map>(store), large));
}

}  // namespace outlast::test::soak
