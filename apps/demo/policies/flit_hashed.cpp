// The demo's row of the policy flit<hashed>.
#include <apps/demo/make_subject.hpp>
#include <apps/demo/policies/policies.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>

namespace outlast::apps::demo {
namespace {

struct kind {
  template <class Domain>
  using policy = durable::flit<durable::tag::hashed<1048576>, durable::automatic, Domain>;
};

}  // namespace

subject flit_hashed() { return make_subject<kind, domain::process>("hashed"); }

}  // namespace outlast::apps::demo
