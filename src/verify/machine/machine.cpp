// The simulated machine: its threads, accesses, fences and faults.
#include <outlast/verify/machine/machine.hpp>

#include <outlast/base/hash.hpp>
#include <outlast/base/keyed_hash.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace outlast::verify {
namespace {

/// The footprint of a step that touches nothing: a fence with nothing to complete.
constexpr std::uint64_t no_line = ~std::uint64_t{0};

constexpr std::size_t signal_stack_bytes = 64 * 1024;
constexpr int watched_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};

/// An execution repeats itself in another process: before any table is made.
[[maybe_unused]] const bool tables_repeat = [] {
  base::fix_hash_key({0x6f75746c61737421, 1});
  return true;
}();

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
    runner.stack = std::make_unique<fiber>(bounds.stack_bytes, bounds.threads);
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

/// Ends the fiber of a subject that faults. Other code ends as it would without this handler.
void machine::on_signal(int number) {
  machine* const self = current();
  if (self != nullptr && (self->alone_depth_ > 0 || self->running_thread_ != no_thread)) {
    guarded& runner = self->running();
    runner.signal = number;
    self->leave_for_good(runner);
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
}

fault machine::ending_of(const guarded& runner) {
  if (runner.signal == 0) return runner.ended;
  return std::string("was ended by a signal: ") + ::strsignal(runner.signal);
}

void machine::prepare(guarded& runner, fiber::entry run) {
  if (runner.stack == nullptr)
    runner.stack = std::make_unique<fiber>(bounds_.stack_bytes, bounds_.threads);
  const std::uint32_t slot = runner.context.slot;
  runner.context = base::thread_context{};
  runner.context.slot = slot;
  runner.context.domain_state = this;
  runner.stack->context = &runner.context;
  runner.finished = false;
  runner.waiting = false;
  runner.parked = false;
  runner.spared = false;
  runner.operation_ends = no_bound;
  runner.tolerant = 0;
  runner.next = {.boundary = true};
  runner.ended.reset();
  runner.signal = 0;
  runner.steps = 0;
  runner.stack->prepare(run, this);
}

machine::guarded& machine::running() {
  return alone_depth_ > 0 ? *alone_[alone_depth_ - 1] : *threads_[running_thread_];
}

std::string machine::name_of_thread(unsigned number) const {
  return number < alone_number() ? "thread " + std::to_string(number) : "alone";
}

unsigned machine::thread_number() const noexcept {
  return alone_depth_ > 0 || running_thread_ == no_thread ? alone_number() : running_thread_;
}

void machine::look_as_running() {
  if (buffers_stores_) memory_.look_as(thread_number());
}

void machine::catch_fault(guarded& runner, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& problem) {
    runner.ended = sentence_of(problem);
  } catch (...) {
    runner.ended = "threw an object that is not a std::exception";
  }
}

// --- alone ---

fault machine::run_alone(const std::function<void()>& body) {
  if (alone_depth_ == deepest) return "nests too deeply";
  if (alone_depth_ == 0 && running_thread_ == no_thread) drain_all(alone_number());
  fiber* const caller =
      alone_depth_ > 0 || running_thread_ != no_thread ? running().stack.get() : &main_;
  guarded& runner = *alone_[alone_depth_];
  runner.alone_body = &body;
  if (mutated_) postponed_[threads_.size()] = {};
  runner.caller = caller;
  prepare(runner, &machine::alone_entry);
  const unsigned depth = alone_depth_++;
  if (buffers_stores_) {
    runner.drain_seed = memory_.image_hash({});
    look_as_running();
  }
  fiber::switch_between(*caller, *runner.stack);
  alone_depth_ = depth;
  const fault ended = ending_of(runner);
  if (buffers_stores_) end_alone(ended.has_value());
  return ended;
}

void machine::end_alone(bool wrecked) {
  if (!wrecked) drain_all(alone_number());
  look_as_running();
}

fiber& machine::alone_entry(void* self) {
  machine& me = *static_cast<machine*>(self);
  guarded& runner = me.running();
  me.catch_fault(runner, *runner.alone_body);
  runner.finished = true;
  return *runner.caller;
}

// --- threads ---

fault machine::run_threads(unsigned threads, const std::function<void(unsigned)>& body,
                           strategy& order) {
  thread_count_ = threads;
  thread_body_ = &body;
  order_ = &order;
  decisions_.clear();
  if (mutated_) postponed_.assign(postponed_.size(), {});
  for (unsigned t = 0; t < threads; ++t) {
    threads_[t]->context.slot = t + 1;
    threads_[t]->caller = &main_;
    threads_[t]->seen = 0;
    prepare(*threads_[t], &machine::thread_entry);
  }
  order.begin(decision_source_, buffers_stores_ ? 2 * threads : threads, horizon_);
  looks_ahead_ = order.looks_ahead();
  const unsigned first = decide(no_thread);
  running_thread_ = first;
  look_as_running();
  fiber::switch_between(main_, *threads_[first]->stack);
  const unsigned last = std::exchange(running_thread_, no_thread);
  alone_depth_ = 0;
  looks_ahead_ = false;
  fault ended = ending_of(*threads_[last]);
  if (ended) memory_.discard_buffers();
  look_as_running();
  if (ended) ended = "thread " + std::to_string(last) + ' ' + *ended;
  return ended;
}

fiber& machine::thread_entry(void* self) {
  machine& me = *static_cast<machine*>(self);
  const unsigned number = me.running_thread_;
  guarded& runner = *me.threads_[number];
  me.catch_fault(runner, [&me, number] { (*me.thread_body_)(number); });
  runner.finished = true;
  const unsigned next = runner.ended ? no_thread : me.decide(no_thread);
  if (next == no_thread) return *runner.caller;
  me.running_thread_ = next;
  me.look_as_running();
  return *me.threads_[next]->stack;
}

void machine::leave_for_good(guarded& runner) {
  runner.finished = true;
  fiber::leave(*runner.stack, *runner.caller);
}

void machine::abandon(std::string what) {
  guarded& runner = running();
  runner.ended = std::move(what);
  leave_for_good(runner);
}

void machine::list_runnable(unsigned current) {
  runnable_.clear();
  if (current != no_thread && !threads_[current]->finished && !threads_[current]->waiting) {
    runnable_.push_back(current);
  }
  for (unsigned t = 0; t < thread_count_; ++t) {
    const guarded& each = *threads_[t];
    if (t != current && !each.finished && !each.waiting && !each.parked) runnable_.push_back(t);
  }
  if (buffers_stores_) list_drains();
  if (!runnable_.empty()) return;
  for (unsigned t = 0; t < thread_count_; ++t) {  // all wait for one another: let them look again
    threads_[t]->waiting = false;
    if (!threads_[t]->finished && !threads_[t]->parked) runnable_.push_back(t);
  }
}

void machine::list_drains() {
  for (unsigned t = 0; t < thread_count_; ++t) {
    if (!memory_.buffers().empty(t)) runnable_.push_back(thread_count_ + t);
  }
}

/// Returns the thread that continues, or no_thread if all have finished and all buffers are empty.
unsigned machine::decide(unsigned current) {
  for (;;) {
    list_runnable(current);
    if (runnable_.empty()) return no_thread;
    const unsigned next = choose(current);
    if (next < thread_count_) return next;
    drain_one(next - thread_count_);
    wake_waiting();
  }
}

unsigned machine::choose(unsigned current) {
  const bool choice = runnable_.size() > 1;
  if (!choice && !looks_ahead_) return runnable_.front();
  if (looks_ahead_) {
    intents_.clear();
    for (unsigned t = 0; t < thread_count_; ++t) intents_.push_back(threads_[t]->next);
    order_->look(intents_);
  }
  const unsigned next = order_->choose(runnable_, current);
  if (choice) decisions_.push_back(static_cast<std::uint8_t>(next));
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
  abandon("did not end within " + std::to_string(bounds_.steps) + " steps");
}

void machine::end_starved() {
  abandon("took more steps for one operation than its progress guarantee allows");
}

void machine::begin_operation(std::uint32_t most) {
  if (running_thread_ == no_thread) return;
  guarded& me = *threads_[running_thread_];
  me.operation_ends = most == 0 ? no_bound : me.steps + most + 1;
  access_boundary();
}

void machine::park(std::optional<unsigned> thread, std::uint32_t at) noexcept {
  to_park_ = thread;
  park_at_ = at;
}

void machine::spare(bool spared) noexcept { running().spared = spared; }

bool machine::parked_one() const noexcept { return to_park_ && threads_[*to_park_]->parked; }

/// Stops the running thread for good if that was decided.
void machine::stop_if_parked(guarded& me) {
  if (to_park_ != me.number || me.steps < park_at_ || me.spared) return;
  me.parked = true;
  const unsigned next = decide(no_thread);
  if (next == no_thread) leave_for_good(me);
  go_on(next);
}

void machine::yield(const intent& next) {
  if (alone_depth_ > 0) {
    guarded& runner = *alone_[alone_depth_ - 1];
    count_step(runner);
    if (buffers_stores_) drain_now_and_then(runner);
    return;
  }
  if (running_thread_ == no_thread) return;
  guarded& me = *threads_[running_thread_];
  count_step(me);
  wake_waiting();
  if (to_park_) stop_if_parked(me);
  if (looks_ahead_ && !may_matter(next)) {
    pass_silently();
    return;
  }
  me.next = next;
  go_on(decide(running_thread_));
}

/// Continues the running thread, and records the decision for a replay.
void machine::pass_silently() {
  list_runnable(running_thread_);
  if (runnable_.size() > 1) decisions_.push_back(static_cast<std::uint8_t>(running_thread_));
}

void machine::access(const void* address, bool writes, domain::code_line where) {
  step_at(address, writes);
  require_in_use(address, 1, writes ? "stored to" : "loaded from", where);
}

void machine::touch(const void* address, domain::code_line where) {
  step_at(address, true);
  require_in_use(address, 1, "touched", where);
}

void machine::step_at(const void* address, bool writes) {
  const bool persistent = memory_.contains(address);
  if (persistent && looks_ahead_) record_footprint(memory_.line_of(address), writes);
  yield({.line = reinterpret_cast<std::uintptr_t>(address) / memory::line_size,
         .writes = writes,
         .persistent = persistent});
}

void machine::access_boundary() { yield({.line = 0, .writes = false, .boundary = true}); }

void machine::locked_access(const void* address, domain::code_line where) {
  const bool fences = memory_.model().rmw_fences;
  const bool persistent = memory_.contains(address);
  if (persistent && looks_ahead_) record_footprint(memory_.line_of(address), true);
  yield({.line = reinterpret_cast<std::uintptr_t>(address) / memory::line_size,
         .persistent = persistent,
         .boundary = fences && memory_.fence_matters(thread_number())});
  drain();
  if (fences) complete_fence(thread_number());
  require_in_use(address, 1, "exchanged a word of", where);
}

void machine::relax() {
  if (alone_depth_ > 0 || running_thread_ == no_thread) {
    yield({});
    return;
  }
  guarded& me = *threads_[running_thread_];
  count_step(me);
  if (to_park_) stop_if_parked(me);
  me.waiting = true;
  me.next = {};
  go_on(decide(running_thread_));
  me.waiting = false;
}

// --- states ---

void machine::remember_seen(const void* value, std::size_t size) {
  if (alone_depth_ > 0 || running_thread_ == no_thread) return;
  std::uint64_t bits = 0;
  std::memcpy(&bits, value, std::min(size, sizeof bits));
  std::uint64_t& seen = threads_[running_thread_]->seen;
  seen = base::mix64(seen + bits + 1);
}

std::uint64_t machine::state_hash() const {
  std::uint64_t hash = base::mix64(memory_.state_hash() + shadows_.hash());
  for (unsigned t = 0; t < thread_count_; ++t) {
    const guarded& each = *threads_[t];
    const std::uint64_t flags = (each.finished ? 1U : 0U) | (each.waiting ? 2U : 0U);
    hash = base::mix64(hash + each.seen);
    hash = base::mix64(hash + (std::uint64_t{each.steps} << 2 | flags));
  }
  return hash;
}

// --- footprints ---

/// Returns true if the order of this step and the other threads' steps can matter.
bool machine::may_matter(const intent& next) {
  if (next.boundary) return true;
  if (next.line == no_line) return false;
  const void* const address = reinterpret_cast<const void*>(next.line * memory::line_size);
  return !next.persistent || shared_[memory_.line_of(address)];
}

void machine::record_footprint(std::uint32_t line, bool writes) {
  if (alone_depth_ > 0 || running_thread_ == no_thread) return;
  if (footprints_.empty()) forget_footprints();
  std::uint16_t& seen = footprints_[line];
  if (seen == 0) touched_lines_.push_back(line);
  seen |= static_cast<std::uint16_t>((writes ? 0x101U : 1U) << running_thread_);
}

void machine::forget_footprints() {
  const std::size_t lines = memory_.bytes().size() / memory::line_size;
  footprints_.assign(lines, 0);
  shared_.assign(lines, false);
  touched_lines_.clear();
}

bool machine::learn_footprints() {
  bool more = false;
  for (const std::uint32_t line : touched_lines_) {
    const unsigned touched = footprints_[line] & 0xff;
    const bool shared = (touched & (touched - 1)) != 0 && footprints_[line] >> 8 != 0;
    if (!shared || shared_[line]) continue;
    shared_[line] = true;
    more = true;
  }
  return more;
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

/// Stores word by word, except 16 bytes that are one store.
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

// --- blocks ---

/// Returns the byte of the memory at the address or at its shadow, or nullptr if there is none.
const std::byte* machine::in_memory(const void* address) const noexcept {
  if (memory_.contains(address)) return static_cast<const std::byte*>(address);
  const std::uintptr_t original = reinterpret_cast<std::uintptr_t>(address) - shadows_.distance();
  const auto* const byte = reinterpret_cast<const std::byte*>(original);
  return shadows_.distance() != 0 && memory_.contains(byte) ? byte : nullptr;
}

void machine::block_given(const void* begin, std::size_t bytes) {
  memory_.freed().give(begin, bytes);
}

void machine::block_freed(const void* block, std::size_t bytes, domain::code_line where) {
  if (!memory_.contains(block)) return;
  memory_.freed().free(block, bytes, where, thread_number());
  if (!looks_ahead_) return;
  // Whether another thread's access comes before this or after it matters.
  const std::uint32_t last = memory_.line_of(static_cast<const std::byte*>(block) + bytes - 1);
  for (std::uint32_t l = memory_.line_of(block); l <= last; ++l) record_footprint(l, true);
}

void machine::block_retired(const void* block, domain::code_line where) {
  memory_.freed().retire(block, where);
}

void machine::tolerate_freed(bool wanted) noexcept {
  if (anybody_runs()) running().tolerant += wanted ? 1 : ~0U;
}

/// Requires that the line is in use. An address inside of the line is one of the flushed bytes. The
/// first address of the line represents any of them, and blocks can share the line.
void machine::require_line_in_use(const void* address, domain::code_line where) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (number % memory::line_size != 0) return require_in_use(address, 1, "flushed", where);
  const freed_blocks& freed = memory_.freed();
  const freed_blocks::block* const found = freed.find(address, 1);
  if (found == nullptr || found->begin + found->bytes - number < memory::line_size) return;
  require_in_use(address, 1, "flushed", where);
}

void machine::require_in_use(const void* address, std::size_t bytes, const char* use,
                             domain::code_line where) {
  const freed_blocks& freed = memory_.freed();
  if (freed.empty() || !anybody_runs() || running().tolerant != 0) return;
  const std::byte* const first = in_memory(address);
  if (first == nullptr) return;
  const freed_blocks::block* const found = freed.find(first, bytes);
  if (found == nullptr) return;
  const std::byte* const memory = memory_.bytes().data();
  const auto begin = reinterpret_cast<const std::byte*>(found->begin) - memory;
  std::string what = use;
  what += " a block that is free: offset " + std::to_string(first - memory) + ", in the block of " +
          std::to_string(found->bytes) + " bytes at offset " + std::to_string(begin) +
          "; accessed at " + to_text(where) + "; freed at " + to_text(found->freed) + " (" +
          name_of_thread(found->thread) + ")";
  if (found->retired.file != nullptr) what += ", retired at " + to_text(found->retired);
  abandon(std::move(what));  // the stack is left as it is, with what it holds
}

// --- the interface of the domain ---

void machine::store(void* destination, const void* source, std::size_t size, store_kind kind,
                    const domain::site& where, bool untorn) {
  if (!untorn) require_in_use(destination, size, "stored to", domain::code_line::of(where));
  const bool inside = memory_.contains(destination);
  if (!inside && !(buffers_stores_ && alone_depth_ == 0 && running_thread_ != no_thread)) {
    return store_outside(destination, source, size);
  }
  const site_id site = inside ? sites_.pass(where, site_kind::store) : site_id{};
  if (buffers_stores_) return buffer_store(destination, source, size, kind, site, untorn);
  const std::uint32_t last = memory_.line_of(static_cast<const std::byte*>(destination) + size - 1);
  for (std::uint32_t l = memory_.line_of(destination); looks_ahead_ && l <= last; ++l) {
    record_footprint(l, true);
  }
  memory_.store(thread_number(), destination, source, size, kind, site, untorn);
  store_over();
}

void machine::store_unbuffered(void* destination, const void* source, std::size_t size,
                               store_kind kind, const domain::site& where) {
  if (!memory_.contains(destination)) return store_outside(destination, source, size);
  const site_id site = sites_.pass(where, site_kind::store);
  memory_.store(thread_number(), destination, source, size, kind, site, true);
  store_over();
}

void machine::write_back(const void* address, const domain::site& where) {
  step_at(address, false);
  require_line_in_use(address, domain::code_line::of(where));
  const site_id site = sites_.pass(where, site_kind::write_back);
  if (!memory_.contains(address)) return;
  if (goes_wrong(site)) {
    if (defect_ == defect::late) postponed_[thread_number()].flush = address;
    return;
  }
  memory_.write_back(thread_number(), address);
}

/// Executes a postponed fence.
void machine::store_over() {
  if (mutated_ && std::exchange(postponed_[thread_number()].fence, false)) {
    complete_fence(thread_number());
  }
  offer_crash_at_store();
}

void machine::store_outside(void* destination, const void* source, std::size_t size) {
  std::memcpy(destination, source, size);
  if (observer_ != nullptr) observer_->stored_outside(destination);
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
  if (!mutated_) return;
  const void* const late = std::exchange(postponed_[thread].flush, nullptr);
  if (late != nullptr) memory_.write_back(thread, late);
}

/// Is the scheduling point of a fence. Returns false if the fence is defective.
bool machine::begin_fence(const domain::site& where) {
  if (memory_.fence_matters(thread_number())) {
    access_boundary();
  } else {
    yield({.line = no_line, .writes = false});
  }
  if (!goes_wrong(sites_.pass(where, site_kind::fence))) return true;
  if (defect_ == defect::late) postponed_[thread_number()].fence = true;
  return false;
}

void machine::fence(const domain::site& where) {
  if (!begin_fence(where)) return;
  const unsigned thread = thread_number();
  if (!buffers_stores_ || memory_.buffers().empty(thread)) return complete_fence(thread);
  while (memory_.buffers().full(thread)) drain_one(thread);
  memory_.buffer_fence(thread);
}

void machine::sync(const domain::site& where) {
  if (!begin_fence(where)) return;
  drain();
  complete_fence(thread_number());
}

void machine::mutate(const std::optional<mutation>& wanted) {
  mutated_ = wanted ? std::optional(sites_.number_of(wanted->where)) : std::nullopt;
  if (wanted) defect_ = wanted->what;
  postponed_.assign(threads_.size() + 1, {});
}

}  // namespace outlast::verify
