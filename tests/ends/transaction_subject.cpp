// Transactions on a sequential map.
#include <tests/ends/pool_subject.hpp>

#include <outlast/containers/hash_map.hpp>
#include <outlast/containers/managed_map.hpp>
#include <outlast/tx/redo_opt.hpp>

namespace outlast::test::ends {
namespace {

template <class D>
class transactions {
 public:
  using domain_type = D;

  explicit transactions(basic_pool<D>& in) : in_(in, "tx", space()) {}
  void put(u64 key, u64 value) { in_.put(key, value); }
  void keep() {}
  [[nodiscard]] std::optional<u64> get(u64 key) { return in_.get(key); }
  [[nodiscard]] std::vector<public_call> calls() {
    return {
        {"get", [this] { return is_refused([&] { return in_.get(1); }); }},
        {"contains", [this] { return is_refused([&] { return in_.contains(1); }); }},
        {"put", [this] { return is_refused([&] { return in_.put(1, 1); }); }},
        {"insert", [this] { return is_refused([&] { return in_.insert(90'001, 1); }); }},
        {"update", [this] { return is_refused([&] { return in_.update(1, 1); }); }},
        {"erase", [this] { return is_refused([&] { return in_.erase(1); }); }},
        {"size", [this] { return is_refused([&] { return in_.size(); }); }},
        {"for_each",
         [this] { return is_refused([&] { return in_.for_each([](auto&&...) {}), 0; }); }},
    };
  }

 private:
  static tx::options space() {
    tx::options wanted;
    wanted.replica_bytes = std::size_t{256} << 10;
    return wanted;
  }

  containers::managed_map<tx::redo_opt<D>, containers::hash_map<u64, u64>> in_;
};

}  // namespace

std::unique_ptr<subject> make_transactions(std::string_view domain) {
  return on_domain<transactions>(domain);
}

}  // namespace outlast::test::ends
