#include <tests/powercut/workers.hpp>

#include <cstddef>
#include <utility>

namespace outlast::test::powercut {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;

}  // namespace

workers::member::member(workers& its_workers, unsigned its_number)
    : owner(its_workers), number(its_number), stack(stack_bytes) {
  // A slot of its own beside the caller's.
  context.slot = base::this_thread().slot + 1 + number;
  stack.context = &context;
}

workers::workers(unsigned members, verify::random& choices) : choices_(choices) {
  for (unsigned i = 0; i < members; ++i) members_.push_back(std::make_unique<member>(*this, i));
}

void workers::run(const std::function<void(unsigned)>& body) {
  body_ = &body;
  main_.context = &base::this_thread();
  for (const auto& each : members_) {
    each->at_work = true;
    each->stack.prepare(&workers::work, each.get());
  }
  running_ = unfinished_member();
  verify::fiber::switch_between(main_, running_->stack);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void workers::yield() {
  if (running_ == nullptr) return;
  member& me = *running_;
  running_ = unfinished_member();  // the caller at least
  if (running_ != &me) verify::fiber::switch_between(me.stack, running_->stack);
}

verify::fiber& workers::work(void* argument) {
  member& me = *static_cast<member*>(argument);
  workers& all = me.owner;
  try {
    (*all.body_)(me.number);
  } catch (...) {
    if (!all.failure_) all.failure_ = std::current_exception();
  }
  me.at_work = false;
  all.running_ = all.unfinished_member();
  return all.running_ != nullptr ? all.running_->stack : all.main_;
}

workers::member* workers::unfinished_member() {
  const std::size_t first = choices_.below(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    member* const candidate = members_[(first + i) % members_.size()].get();
    if (candidate->at_work) return candidate;
  }
  return nullptr;
}

}  // namespace outlast::test::powercut
