// The demo's row of the policy flit<line>.
#include <apps/demo/make_subject.hpp>
#include <apps/demo/policies/policies.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/durable/policy.hpp>

namespace outlast::apps::demo {
namespace {

struct kind {
  template <class Domain>
  using policy = durable::flit<durable::tag::line<1048576>, durable::automatic, Domain>;
};

}  // namespace

subject flit_line() { return make_subject<kind, domain::process>("line"); }

}  // namespace outlast::apps::demo
