// The demo's row of the policy flit<always>.
#include <apps/demo/make_subject.hpp>
#include <apps/demo/policies/policies.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>

namespace outlast::apps::demo {
namespace {

struct kind {
  template <class Domain>
  using policy = durable::flit<durable::tag::always, durable::automatic, Domain>;
};

}  // namespace

subject flit_always() { return make_subject<kind, domain::process>("always"); }

}  // namespace outlast::apps::demo
