// The demo's row of the policy flit<adjacent> under domain process.
#include <apps/demo/make_subject.hpp>
#include <apps/demo/policies/policies.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>

namespace outlast::apps::demo {
namespace {

struct kind {
  template <class Domain>
  using policy = durable::flit<durable::tag::adjacent, durable::automatic, Domain>;
};

}  // namespace

subject flit_adjacent() { return make_subject<kind, domain::process>("adjacent"); }

}  // namespace outlast::apps::demo
