#include <outlast/verify/machine.hpp>

#include <outlast/base/hash.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace outlast::verify {
namespace {

constexpr std::size_t signal_stack_bytes = 64 * 1024;
constexpr int watched_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};

std::string sentence_of(const std::exception& problem) {
  return std::string("threw: ") + problem.what();
}

}  // namespace

machine::machine(std::size_t memory_bytes, unsigned threads, memory_model model, limits bounds)
    : memory_(memory_bytes, threads + 1, model),
      bounds_(bounds),
      buffers_stores_(memory_.model().store_buffers),
      signal_stack_(new std::byte[signal_stack_bytes]) {
  main_.context = &base::this_thread();
  for (unsigned t = 0; t < threads; ++t) {
    guarded& runner = *threads_.emplace_back(std::make_unique<guarded>());
    runner.stack = std::make_unique<fiber>(bounds.stack_bytes);
    runner.number = t;
  }
  for (auto& slot : alone_) slot = std::make_unique<guarded>();
  stack_t stack{};
  stack.ss_sp = signal_stack_.get();
  stack.ss_size = signal_stack_bytes;
  ::sigaltstack(&stack, nullptr);
  install_signal_handlers();
  domain_state_before_ = std::exchange(main_.context->domain_state, this);
  look_as_running();
}

machine::~machine() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
  main_.context->domain_state = domain_state_before_;
}

void machine::install_signal_handlers() {
  struct sigaction action{};
  action.sa_handler = &machine::on_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int number : watched_signals) ::sigaction(number, &action, nullptr);
}

/// A subject that faults ends its fiber. Anything else dies as it would have without us.
void machine::on_signal(int number) {
  machine* const self = current();
  if (self != nullptr && (self->alone_depth_ > 0 || self->running_thread_ != nobody)) {
    guarded& runner = self->running();
    runner.signal = number;
    self->leave_for_good(runner);
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
}

mishap machine::ending_of(const guarded& runner) {
  if (runner.signal == 0) return runner.ended;
  return std::string("was ended by a signal: ") + ::strsignal(runner.signal);
}

void machine::prepare(guarded& runner, fiber::entry run) {
  if (runner.stack == nullptr) runner.stack = std::make_unique<fiber>(bounds_.stack_bytes);
  const std::uint32_t slot = runner.context.slot;
  runner.context = base::thread_context{};
  runner.context.slot = slot;
  runner.context.domain_state = this;
  runner.stack->context = &runner.context;
  runner.finished = false;
  runner.waiting = false;
  runner.ended.reset();
  runner.signal = 0;
  runner.steps = 0;
  runner.stack->prepare(run, this);
}

machine::guarded& machine::running() {
  return alone_depth_ > 0 ? *alone_[alone_depth_ - 1] : *threads_[running_thread_];
}

unsigned machine::thread_number() const noexcept {
  return alone_depth_ > 0 || running_thread_ == nobody ? alone_number() : running_thread_;
}

void machine::look_as_running() {
  if (buffers_stores_) memory_.look_as(thread_number());
}

void machine::catch_mishap(guarded& runner, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& problem) {
    runner.ended = sentence_of(problem);
  } catch (...) {
    runner.ended = "threw something that is no std::exception";
  }
}

// --- alone ---

mishap machine::run_alone(const std::function<void()>& body) {
  if (alone_depth_ == deepest) return "nests too deep";
  if (alone_depth_ == 0 && running_thread_ == nobody) drain_all(alone_number());
  fiber* const caller =
      alone_depth_ > 0 || running_thread_ != nobody ? running().stack.get() : &main_;
  guarded& runner = *alone_[alone_depth_];
  runner.alone_body = &body;
  runner.caller = caller;
  prepare(runner, &machine::alone_entry);
  const unsigned depth = alone_depth_++;
  if (buffers_stores_) {
    runner.drain_seed = memory_.image_hash({});
    look_as_running();
  }
  fiber::switch_between(*caller, *runner.stack);
  alone_depth_ = depth;
  const mishap ended = ending_of(runner);
  if (buffers_stores_) end_alone(ended.has_value());
  return ended;
}

void machine::end_alone(bool wrecked) {
  if (!wrecked) drain_all(alone_number());
  look_as_running();
}

void machine::alone_entry(void* self) {
  machine& me = *static_cast<machine*>(self);
  guarded& runner = me.running();
  me.catch_mishap(runner, *runner.alone_body);
  me.leave_for_good(runner);
}

// --- threads ---

mishap machine::run_threads(unsigned threads, const std::function<void(unsigned)>& body,
                            strategy& order) {
  thread_count_ = threads;
  thread_body_ = &body;
  order_ = &order;
  decisions_.clear();
  for (unsigned t = 0; t < threads; ++t) {
    threads_[t]->context.slot = t + 1;
    threads_[t]->caller = &main_;
    prepare(*threads_[t], &machine::thread_entry);
  }
  order.begin(decision_source_, buffers_stores_ ? 2 * threads : threads, horizon_);
  const unsigned first = decide(nobody);
  running_thread_ = first;
  look_as_running();
  fiber::switch_between(main_, *threads_[first]->stack);
  const unsigned last = std::exchange(running_thread_, nobody);
  alone_depth_ = 0;
  mishap ended = ending_of(*threads_[last]);
  if (ended) memory_.discard_buffers();
  look_as_running();
  if (ended) ended = "thread " + std::to_string(last) + ' ' + *ended;
  return ended;
}

void machine::thread_entry(void* self) {
  machine& me = *static_cast<machine*>(self);
  const unsigned number = me.running_thread_;
  guarded& runner = *me.threads_[number];
  me.catch_mishap(runner, [&me, number] { (*me.thread_body_)(number); });
  runner.finished = true;
  const unsigned next = runner.ended ? nobody : me.decide(nobody);
  if (next != nobody) me.go_on(next);
  me.leave_for_good(runner);
}

void machine::leave_for_good(guarded& runner) {
  runner.finished = true;
  fiber::switch_between(*runner.stack, *runner.caller);
  std::abort();  // nobody resumes a finished fiber
}

void machine::abandon(std::string what) {
  guarded& runner = running();
  runner.ended = std::move(what);
  leave_for_good(runner);
  std::abort();
}

void machine::list_runnable(unsigned current) {
  runnable_.clear();
  if (current != nobody && !threads_[current]->finished && !threads_[current]->waiting) {
    runnable_.push_back(current);
  }
  for (unsigned t = 0; t < thread_count_; ++t) {
    if (t != current && !threads_[t]->finished && !threads_[t]->waiting) runnable_.push_back(t);
  }
  if (buffers_stores_) list_drains();
  if (!runnable_.empty()) return;
  for (unsigned t = 0; t < thread_count_; ++t) {  // all wait for one another: let them look again
    threads_[t]->waiting = false;
    if (!threads_[t]->finished) runnable_.push_back(t);
  }
}

void machine::list_drains() {
  for (unsigned t = 0; t < thread_count_; ++t) {
    if (!memory_.buffers().empty(t)) runnable_.push_back(thread_count_ + t);
  }
}

/// The thread that goes on; nobody's number if all have finished and nothing is buffered.
unsigned machine::decide(unsigned current) {
  for (;;) {
    list_runnable(current);
    if (runnable_.empty()) return nobody;
    const unsigned next = choose(current);
    if (next < thread_count_) return next;
    drain_one(next - thread_count_);
    wake_waiting();
  }
}

unsigned machine::choose(unsigned current) {
  if (runnable_.size() == 1) return runnable_.front();
  const unsigned next = order_->choose(runnable_, current);
  decisions_.push_back(static_cast<std::uint8_t>(next));
  return next;
}

void machine::wake_waiting() noexcept {
  for (unsigned t = 0; t < thread_count_; ++t) threads_[t]->waiting = false;
}

void machine::go_on(unsigned thread) {
  if (thread == running_thread_) return;
  guarded& from = *threads_[running_thread_];
  running_thread_ = thread;
  look_as_running();
  fiber::switch_between(*from.stack, *threads_[thread]->stack);
}

void machine::end_stuck() {
  abandon("made no end within " + std::to_string(bounds_.steps) + " steps");
}

void machine::access() {
  if (alone_depth_ > 0) {
    guarded& runner = *alone_[alone_depth_ - 1];
    count_step(runner);
    if (buffers_stores_) drain_now_and_then(runner);
    return;
  }
  if (running_thread_ == nobody) return;
  count_step(*threads_[running_thread_]);
  wake_waiting();
  go_on(decide(running_thread_));
}

void machine::relax() {
  if (alone_depth_ > 0 || running_thread_ == nobody) {
    access();
    return;
  }
  guarded& me = *threads_[running_thread_];
  count_step(me);
  me.waiting = true;
  go_on(decide(running_thread_));
  me.waiting = false;
}

// --- store buffers ---

/// One access in four, whatever happened before: the same image is recovered in the same way.
void machine::drain_now_and_then(const guarded& runner) {
  if (memory_.buffers().empty(alone_number())) return;
  if (base::mix64(runner.drain_seed + runner.steps) % 4 == 0) drain_one(alone_number());
}

void machine::drain_one(unsigned thread) {
  const auto what = memory_.buffers().of(thread).front().what;
  if (what == buffered::instruction::fence) possible_crash(thread);
  if (what == buffered::instruction::store) offer_crash_at_store();  // after a response, perhaps
  memory_.drain_one(thread);
  if (what == buffered::instruction::store) offer_crash_at_store();
}

void machine::drain_all(unsigned thread) {
  while (!memory_.buffers().empty(thread)) drain_one(thread);
}

void machine::drain() {
  if (buffers_stores_) drain_all(thread_number());
}

/// Word by word, but for 16 bytes that are one store.
void machine::buffer_store(void* destination, const void* source, std::size_t size, store_kind kind,
                           site_id site, bool untorn) {
  const unsigned thread = thread_number();
  auto* to = static_cast<std::byte*>(destination);
  const auto* from = static_cast<const std::byte*>(source);
  while (size > 0) {
    const std::size_t word = 8 - reinterpret_cast<std::uintptr_t>(to) % 8;
    const std::size_t part = untorn && size == 16 ? size : std::min(size, word);
    while (memory_.buffers().full(thread)) drain_one(thread);
    memory_.buffer_store(thread, to, from, part, kind, site, untorn);
    to += part;
    from += part;
    size -= part;
  }
}

// --- the seam ---

void machine::store(void* destination, const void* source, std::size_t size, store_kind kind,
                    const domain::site& where, bool untorn) {
  const bool inside = memory_.contains(destination);
  if (!inside && !(buffers_stores_ && alone_depth_ == 0 && running_thread_ != nobody)) {
    std::memcpy(destination, source, size);
    return;
  }
  const site_id site = inside ? sites_.pass(where, site_kind::store) : site_id{};
  if (buffers_stores_) return buffer_store(destination, source, size, kind, site, untorn);
  memory_.store(thread_number(), destination, source, size, kind, site, untorn);
  offer_crash_at_store();
}

void machine::store_at_once(void* destination, const void* source, std::size_t size,
                            store_kind kind, const domain::site& where) {
  if (!memory_.contains(destination)) {
    std::memcpy(destination, source, size);
    return;
  }
  const site_id site = sites_.pass(where, site_kind::store);
  memory_.store(thread_number(), destination, source, size, kind, site, true);
  offer_crash_at_store();
}

void machine::write_back(const void* address, const domain::site& where) {
  access();
  const site_id site = sites_.pass(where, site_kind::write_back);
  if (muted_ == site || !memory_.contains(address)) return;
  memory_.write_back(thread_number(), address);
}

void machine::offer_crash_at_store() {
  if (after_stores_ && observer_ != nullptr) observer_->crash_point();
}

void machine::possible_crash(unsigned thread) {
  if (observer_ != nullptr && memory_.fence_matters(thread)) observer_->crash_point();
}

void machine::complete_fence(unsigned thread) {
  possible_crash(thread);
  memory_.fence(thread);
}

void machine::fence(const domain::site& where) {
  access();
  const site_id site = sites_.pass(where, site_kind::fence);
  if (muted_ == site) return;
  const unsigned thread = thread_number();
  if (!buffers_stores_ || memory_.buffers().empty(thread)) return complete_fence(thread);
  while (memory_.buffers().full(thread)) drain_one(thread);
  memory_.buffer_fence(thread);
}

void machine::sync(const domain::site& where) {
  access();
  const site_id site = sites_.pass(where, site_kind::fence);
  if (muted_ == site) return;
  drain();
  complete_fence(thread_number());
}

void machine::locked_instruction() {
  drain();
  if (memory_.model().rmw_fences) complete_fence(thread_number());
}

}  // namespace outlast::verify
