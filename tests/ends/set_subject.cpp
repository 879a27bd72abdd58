// Sets whose links do not survive.
#include <tests/ends/pool_subject.hpp>

#include <outlast/sets/link_free_hash.hpp>

namespace outlast::test::ends {
namespace {

template <class D>
class set {
 public:
  using domain_type = D;

  explicit set(basic_pool<D>& in) : in_(in, "set") {}
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
  sets::link_free_hash<u64, u64, D> in_;
};

}  // namespace

std::unique_ptr<subject> make_set(std::string_view domain) { return on_domain<set>(domain); }

}  // namespace outlast::test::ends
