// Roots that are created and dropped in each wave, and a store that is created and destroyed.
#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/durable/policy.hpp>
#include <outlast/epoch/hash_map.hpp>
#include <outlast/lockfree/hash_table.hpp>
#include <outlast/lockfree/michael_scott_queue.hpp>
#include <outlast/sets/link_free_hash.hpp>
#include <outlast/tx/left_right.hpp>
#include <tests/soak/families.hpp>
#include <tests/soak/map_subject.hpp>
#include <tests/soak/sequence_subject.hpp>
#include <tests/soak/store_map.hpp>

#include <memory>
#include <string>
#include <utility>

namespace outlast::test::soak {
namespace {

constexpr const char* passing_name = "passing";
constexpr unsigned passing_role = 2;

template <class D>
class passing_subject final : public subject {
 public:
  passing_subject(basic_pool<D>& pool, std::string path, const amounts& how)
      : pool_(&pool), path_(std::move(path)), how_(how) {}

  void grow(turn& of) override {
    if (of.role != passing_role) return;
    make(of.wave);
    for (const auto& each : here_) each->grow(of);
  }
  void look(turn& of) override {
    if (of.role != passing_role) return;
    for (const auto& each : here_) {
      each->look(of);
      each->check();
    }
  }
  void shrink(turn& of) override {
    if (of.role == passing_role) drop();
  }
  void check() override {}

 private:
  void make(u64 wave) {
    using policy = durable::flit<durable::tag::adjacent, durable::automatic, D>;
    using transactions = containers::managed_map<tx::left_right<D>, containers::hash_map<u64, u64>>;
    const scale some{.operations = how_.waiting};
    const scale many{.operations = how_.quick};
    switch (wave % period) {
      case 0: return add_map<lockfree::hash_table<u64, u64, policy>>(here_, *pool_, name(), some);
      case 1:
        return add_map<sets::link_free_hash<u64, std::string, D>>(here_, *pool_, name(), some);
      case 2: return add_map<epoch::hash_map<u64, std::string, D>>(here_, *pool_, name(), many);
      case 3: {
        const tx::options space{.replica_bytes = std::size_t{8} << 20};
        return add_map<transactions>(here_, *pool_, name(), some, space);
      }
      case 4: {
        using queue = lockfree::michael_scott_queue<u64, policy>;
        return add_sequence<queue, true>(here_, *pool_, name(), some);
      }
      default: return make_store();
    }
  }
  void make_store() {
    db::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    db::StoreOptions more;
    more.capacity_bytes = std::size_t{16} << 20;
    db::DB* made = nullptr;
    require_ok(db::DB::Open(options, more, path_, &made));
    store_.reset(made);
    here_.push_back(std::make_unique<map_subject<store_map>>(
        "passing store", std::make_unique<store_map>(*store_), scale{.operations = how_.waiting}));
  }
  void drop() {
    for (const auto& each : here_) each->let_go();
    here_.clear();
    if (store_ == nullptr) return pool_->drop_root(passing_name);
    store_.reset();
    require_ok(db::DestroyDB(path_, {}));
  }
  static std::string name() { return passing_name; }

  basic_pool<D>* pool_;
  std::string path_;
  amounts how_;
  std::unique_ptr<db::DB> store_;
  subjects here_;
};

}  // namespace

template <domain::persistence_domain D>
void add_passing(subjects& to, basic_pool<D>& pool, const std::string& path, const amounts& how) {
  to.push_back(std::make_unique<passing_subject<D>>(pool, path, how));
}

template void add_passing(subjects&, pool&, const std::string&, const amounts&);
template void add_passing(subjects&, basic_pool<domain::logged_file>&, const std::string&,
                          const amounts&);

}  // namespace outlast::test::soak
