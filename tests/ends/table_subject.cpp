// Lock-free tables.
#include <tests/ends/pool_subject.hpp>

#include <outlast/durable/policy.hpp>
#include <outlast/lockfree/hash_table.hpp>

namespace outlast::test::ends {
namespace {

template <class D>
class table {
 public:
  using domain_type = D;

  explicit table(basic_pool<D>& in) : in_(in, "table") {}
  void put(u64 key, u64 value) { in_.put(key, value); }
  void keep() {}
  [[nodiscard]] std::optional<u64> get(u64 key) const { return in_.get(key); }
  [[nodiscard]] std::vector<public_call> calls() {
    return {
        {"get", [this] { return is_refused([&] { return in_.get(1); }); }},
        {"contains", [this] { return is_refused([&] { return in_.contains(1); }); }},
        {"put", [this] { return is_refused([&] { return in_.put(1, 1); }); }},
        {"insert", [this] { return is_refused([&] { return in_.insert(90'001, 1); }); }},
        {"update", [this] { return is_refused([&] { return in_.update(1, 1); }); }},
        {"erase", [this] { return is_refused([&] { return in_.erase(1); }); }},
        {"for_each",
         [this] { return is_refused([&] { return in_.for_each([](auto&&...) {}), 0; }); }},
        {"size_estimate", [this] { return returns([&] { return in_.size_estimate(); }); }},
    };
  }

 private:
  lockfree::hash_table<u64, u64, durable::flit<durable::tag::adjacent, durable::automatic, D>> in_;
};

}  // namespace

std::unique_ptr<subject> make_table(std::string_view domain) { return on_domain<table>(domain); }

}  // namespace outlast::test::ends
