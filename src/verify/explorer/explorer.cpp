// The crash explorer: scenarios, executions, crash points and images.
#include <outlast/verify/explorer/explorer.hpp>

#include <outlast/base/error.hpp>
#include <outlast/base/hash.hpp>
#include <src/verify/explorer/clock.hpp>
#include <src/verify/explorer/image_set.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <sstream>
#include <string_view>

namespace outlast::verify {
namespace {

/// With more lines, not every line is considered alone at every crash point.
constexpr std::size_t many_lines = 64;

/// The initial content of memory.
constexpr std::byte never_written{0xDB};

std::uint64_t hash_of(const abstract_state& state) {
  std::uint64_t hash = state.size();
  for (const std::uint64_t word : state) hash = base::mix64(hash * 31 + word + 1);
  return hash;
}

void clear(std::span<std::byte> bytes) { std::fill(bytes.begin(), bytes.end(), std::byte{}); }

/// Clears volatile globals for the duration of a crash.
class emptied {
 public:
  explicit emptied(std::span<std::byte> globals) : globals_(globals) {
    if (globals_.empty()) return;
    before_.assign(globals_.begin(), globals_.end());
    clear(globals_);
  }
  ~emptied() { std::copy(before_.begin(), before_.end(), globals_.begin()); }
  emptied(const emptied&) = delete;
  emptied& operator=(const emptied&) = delete;

 private:
  std::span<std::byte> globals_;
  std::vector<std::byte> before_;
};

/// Restores at its end what kills leave. Its memory may grow meanwhile.
class restored {
 public:
  explicit restored(const subject& of) : of_(of) {
    const std::span<std::byte> kept = of.kept_by_kills();
    before_.assign(kept.begin(), kept.end());
  }
  ~restored() {
    const std::span<std::byte> kept = of_.kept_by_kills();
    std::copy(before_.begin(), before_.end(), kept.begin());
    std::fill(kept.begin() + static_cast<std::ptrdiff_t>(before_.size()), kept.end(), std::byte{});
  }
  restored(const restored&) = delete;
  restored& operator=(const restored&) = delete;

 private:
  const subject& of_;
  std::vector<std::byte> before_;
};

}  // namespace

namespace {

/// Returns the options with which an exploration is complete. A drained buffer has no next step to
/// look ahead to. Exhaustive scenarios have two threads, unless an oracle has programs. With more
/// than two, a bound on preemptions and the reduction together would lose interleavings.
options possible(options how, const oracle& checker) {
  if (how.strategy == strategy_kind::exhaustive && how.reduced && !how.by_states &&
      how.model.store_buffers) {
    throw error(errc::bad_argument, "",
                "an exhaustive exploration does not support store buffers; choose another model");
  }
  if (how.strategy != strategy_kind::exhaustive) return how;
  std::size_t threads = 2;
  for (const program& each : checker.programs(how.within)) {
    threads = std::max(threads, each.threads.size());
  }
  how.within.threads = static_cast<unsigned>(threads);
  if (how.by_states && how.model.store_buffers) {
    throw error(errc::bad_argument, "",
                "an exploration by states does not support store buffers; choose another model");
  }
  if (threads > 2 && how.reduced) how.preemptions = ~0U;
  return how;
}

/// Returns 1 for a single thread, which has one interleaving unless its stores are buffered.
std::uint64_t executions_of_a_scenario(const options& how) {
  const bool only_one =
      how.within.threads == 1 && !how.model.store_buffers && !how.model.cache_persistent;
  return only_one ? 1 : how.executions_per_scenario;
}

}  // namespace

explorer::explorer(subject& tested, const options& how)
    : tested_(tested),
      how_(possible(how, tested.checker())),
      machine_(tested.memory_bytes(), how_.within.threads, how.model, {.threads = how.threads}),
      images_(std::make_unique<image_set>()) {
  machine_.observe_crash_points(this);
  machine_.mutate(how.mutated);
  machine_.offer_crash_after_stores(how.crash_after_stores || how.model.cache_persistent);
  incarnations_.reserve(8);
}

explorer::~explorer() = default;

// --- crashes ---

void explorer::crash_point() {
  if (!offers_crashes()) return;
  incarnation& here = incarnations_.back();
  memory& media = machine_.memory();
  if (here.last_version == media.version() && here.last_history == here.seen->hash()) return;
  here.last_version = media.version();
  here.last_history = here.seen->hash();
  check_seam(false);
  ++counts_.crash_points;
  if (here.opened != nullptr) {
    const std::string wrong = here.opened->check_risks(media);
    if (!wrong.empty()) return fail("at a crash point, " + wrong);
  }
  std::vector<std::vector<std::uint64_t>> sets;
  std::uint64_t product = 1;
  for (const std::uint32_t line : media.dirty_lines()) {
    sets.push_back(media.survivor_sets(line));
    product = std::min<std::uint64_t>(product * sets.back().size(), 1U << 20);
  }
  if (product <= how_.eviction_cap) {
    try_all(sets);
  } else {
    try_some(sets);
  }
  consider_kill(sets);
  incarnations_.back().last_version = media.version();
}

bool explorer::offers_crashes() const {
  return armed_ && !counts_.found && !late_ && !(everything_ != nullptr && everything_->repeats());
}

void explorer::stored_outside(const void* address) {
  const std::span<const std::byte> kept = tested_.kept_by_kills();
  const std::less<const void*> is_before;
  if (is_before(address, kept.data()) || !is_before(address, kept.data() + kept.size())) return;
  if (!offers_crashes()) return;
  ++stores_outside_;
  memory& media = machine_.memory();
  std::vector<std::vector<std::uint64_t>> sets;
  for (const std::uint32_t line : media.dirty_lines()) sets.push_back(media.survivor_sets(line));
  consider_kill(sets, true);
}

void explorer::try_all(const std::vector<std::vector<std::uint64_t>>& sets) {
  std::vector<std::size_t> index(sets.size(), 0);
  crash_choice choice(sets.size());
  while (!counts_.found) {
    for (std::size_t d = 0; d < sets.size(); ++d) choice[d] = sets[d][index[d]];
    consider(choice);
    std::size_t d = 0;
    while (d < sets.size() && ++index[d] == sets[d].size()) index[d++] = 0;
    if (d == sets.size()) return;
  }
}

/// Considers the images with no line, all lines, each line alone, all lines except one (a sample if
/// there are very many), and random ones.
void explorer::try_some(const std::vector<std::vector<std::uint64_t>>& sets) {
  ++counts_.sampled_points;
  const std::size_t lines = sets.size();
  crash_choice none(lines);
  crash_choice all(lines);
  for (std::size_t d = 0; d < lines; ++d) {
    none[d] = sets[d].front();
    all[d] = sets[d].back();
  }
  consider(none);
  consider(all);
  random source(scene_.seed, machine_.memory().image_hash(all));
  const std::size_t step = 1 + lines / many_lines;
  for (std::size_t d = source.below(step); d < lines && !counts_.found; d += step) {
    crash_choice one = none;
    one[d] = all[d];
    consider(one);
    one = all;
    one[d] = none[d];
    consider(one);
  }
  for (unsigned i = 0; i < how_.eviction_samples && !counts_.found; ++i) {
    crash_choice any(lines);
    for (std::size_t d = 0; d < lines; ++d) any[d] = sets[d][source.below(sets[d].size())];
    consider(any);
  }
}

void explorer::consider(const crash_choice& choice) {
  if (counts_.found || late_) return;
  if (++counts_.crash_images % 256 == 0 && how_.seconds > 0) {
    late_ = now() - started_ > how_.seconds + std::min(how_.seconds, 1.0);
  }
  const incarnation before = incarnations_.back();
  memory& media = machine_.memory();
  std::uint64_t key =
      media.image_hash(choice) ^ base::mix64(before.seen->hash() + incarnations_.size());
  key = base::mix64(key + hash_of(*before.initial));
  if (!images_->insert(key)) return;
  ++counts_.images_checked;
  if (incarnations_.size() > 1) ++counts_.nested_checked;
  const auto cut_power = [&] {
    media.enter(choice);
    clear(tested_.kept_by_kills());
  };
  crash(cut_power, before, key, nests(key));
  if (counts_.found) describe_crash(choice);
}

/// Considers the end of the process without a crash of the machine. The next process sees the
/// stores that are not durable, uses them, and can lose them.
void explorer::consider_kill(const std::vector<std::vector<std::uint64_t>>& sets,
                             bool is_after_store_outside) {
  const std::span<const std::byte> kept = tested_.kept_by_kills();
  if (counts_.found || late_ || how_.killed_one_in == 0 || incarnations_.size() > 1) return;
  // Without memory of its own, a kill leaves the same image as a power cut.
  if (sets.empty() && kept.empty()) return;
  crash_choice all;
  for (const auto& each : sets) all.push_back(each.back());
  const incarnation before = incarnations_.back();
  memory& media = machine_.memory();
  std::uint64_t key =
      media.image_hash(all) + base::mix64(media.image_hash(crash_choice(all.size())));
  key = base::mix64(key + before.seen->hash() + hash_of(*before.initial) + stores_outside_);
  if (key % how_.killed_one_in != 0) return;
  const std::string_view text(reinterpret_cast<const char*>(kept.data()), kept.size());
  if (!images_->insert(key + (kept.empty() ? 0 : base::hash_bytes(text)))) return;
  ++counts_.kills_checked;
  const bool crashes_again = !is_after_store_outside || nests(key);
  crash([&] { media.enter_killed(kept); }, before, key, crashes_again);
  if (counts_.found) describe_kill();
}

template <class Enter>
void explorer::crash(Enter&& enter, const incarnation& before, std::uint64_t key,
                     bool crashes_again) {
  const std::size_t depth = incarnations_.size();
  const emptied globals(tested_.volatile_globals());
  const restored kept(tested_);
  enter();
  const fault ended = machine_.run_alone([&] { recover_on_image(before, key, crashes_again); });
  incarnations_.resize(depth, before);
  machine_.memory().leave();
  armed_ = true;
  fail_if(ended, "after a crash, the recovered subject");
}

/// Depends only on the image and its history, so that known images can be skipped without loss.
bool explorer::nests(std::uint64_t key) const {
  return incarnations_.size() <= how_.nested &&
         (incarnations_.size() > 1 || key % how_.nested_one_in == 0);
}

/// Recovers on the image of a crash, checks the state, and continues with further operations.
void explorer::recover_on_image(const incarnation& before, std::uint64_t key, bool crashes_again) {
  armed_ = crashes_again;
  incarnations_.push_back({before.initial, before.seen});
  std::unique_ptr<world> recovered = open();
  incarnations_.back().opened = recovered.get();
  const struct disarm {  // no crash points while `recovered` is destroyed
    bool& armed;
    ~disarm() { armed = false; }
  } before_destruction{armed_};
  abstract_state state;
  check_state(*recovered, before, state, "after a crash", true);
  if (!counts_.found && armed_) run_after_recovery(*recovered, state, key);
  incarnations_.pop_back();
}

void explorer::run_after_recovery(world& recovered, const abstract_state& state,
                                  std::uint64_t seed) {
  history seen;
  incarnation& mine = incarnations_.back();
  mine = {&state, &seen, &recovered};
  random source(seed);
  for (unsigned i = 0; i < how_.operations_after && !counts_.found; ++i) {
    const call what = tested_.checker().draw(source, how_.within, 1000 + i);
    const std::size_t number = seen.invoke(0, what);
    const outcome result = recovered.apply(what);
    crash_point();
    seen.respond(number, result);
  }
  crash_point();
  abstract_state after;
  if (!counts_.found) check_state(recovered, mine, after, "in the operations after a crash", false);
}

void explorer::check_state(world& opened, const incarnation& ended, abstract_state& state,
                           const char* when, bool directly_after_opening) {
  state = opened.observe();
  const std::string wrong = opened.check(directly_after_opening);
  if (!wrong.empty()) fail(std::string(when) + ", the subject is inconsistent: " + wrong);
  const oracle& checker = tested_.checker();
  if (directly_after_opening ? checker.explains_after_crash(*ended.initial, *ended.seen, state)
                             : checker.explains(*ended.initial, *ended.seen, state)) {
    return;
  }
  fail(std::string(when) + ", no order of the operations explains " +
       tested_.checker().describe(state) + " (it began with " +
       tested_.checker().describe(*ended.initial) + ")");
}

// --- scenarios and executions ---

bool explorer::build_scenario(std::uint64_t seed, const std::vector<operation_place>& without) {
  scene_ = {};
  scene_.seed = seed;
  scene_.without = without;
  images_->clear();
  const bool is_detectable = tested_.exists(machine_.memory().bytes()).has_value();
  machine_.memory().clear(is_detectable ? never_written : std::byte{});
  clear(tested_.volatile_globals());
  clear(tested_.kept_by_kills());
  random source(seed, 0);
  std::vector<call> beginning;
  if (how_.strategy == strategy_kind::exhaustive) {
    small_scenario chosen = small_scenario_of(seed);
    beginning = std::move(chosen.beginning);
    scene_.calls = std::move(chosen.calls);
    scene_.closed = chosen.closed;
  } else {
    choose_start(source);
    draw_scenario(source, beginning);
  }
  const fault ended = machine_.run_alone([&] { prepare(beginning); });
  fail_if(ended, "while a scenario was set up, the subject");
  machine_.memory().settle();
  for (const operation_place& at : without) {
    std::vector<call>& calls = scene_.calls[at.thread];
    calls.erase(calls.begin() + at.operation);
  }
  ++counts_.scenarios;
  return !counts_.found;
}

/// One scenario in eight begins before the subject exists. One in four of these begins without
/// formatted memory, if the subject implements exists().
void explorer::choose_start(random& source) {
  if (!source.one_in(8)) return;
  const bool is_detectable = tested_.exists(machine_.memory().bytes()).has_value();
  const bool from_nothing = source.one_in(4) && is_detectable;
  scene_.begins = from_nothing ? start::nothing : start::formatted;
}

void explorer::prepare(const std::vector<call>& beginning) {
  switch (scene_.begins) {
    case start::nothing: break;
    case start::formatted: tested_.format(machine_.memory().bytes()); break;
    case start::prefilled: prefill(beginning); break;
  }
}

/// Makes half of the scenarios smaller than permitted, because small ones find an error sooner.
void explorer::draw_scenario(random& source, std::vector<call>& beginning) {
  scope within = how_.within;
  if (source.one_in(2)) {
    within.operations = static_cast<unsigned>(1 + source.below(within.operations));
    within.keys = static_cast<unsigned>(1 + source.below(within.keys));
    within.prefill = static_cast<unsigned>(source.below(within.prefill + 1));
  }
  std::uint64_t serial = 0;
  const auto draw = [&] { return tested_.checker().draw(source, within, serial++); };
  for (unsigned i = 0; i < within.prefill; ++i) beginning.push_back(draw());
  scene_.closed = source.one_in(2);
  scene_.calls.resize(within.threads);
  for (unsigned i = 0; i < within.operations; ++i) {
    for (auto& calls : scene_.calls) calls.push_back(draw());
  }
}

/// Returns the number of scenarios with two threads of one operation: unordered pairs, for each
/// beginning, after a close or not.
std::uint64_t explorer::small_scenarios() const {
  const std::uint64_t programs = tested_.checker().programs(how_.within).size();
  if (programs != 0) return programs * 2;
  const std::uint64_t calls = tested_.checker().alphabet(how_.within, 0).size();
  return calls * (calls + 1) / 2 * tested_.checker().beginnings(how_.within).size() * 2;
}

explorer::small_scenario explorer::small_scenario_of(std::uint64_t number) const {
  small_scenario chosen;
  const std::vector<program> programs = tested_.checker().programs(how_.within);
  if (!programs.empty()) {
    const program& written = programs[number / 2];
    chosen = {written.beginning, written.threads, number % 2 == 1};
    chosen.calls.resize(how_.within.threads);
    return chosen;
  }
  const auto beginnings = tested_.checker().beginnings(how_.within);
  chosen.closed = number % 2 == 1;
  chosen.beginning = beginnings[number / 2 % beginnings.size()];
  std::uint64_t pair = number / 2 / beginnings.size();
  const std::vector<call> first = tested_.checker().alphabet(how_.within, 100);
  const std::vector<call> second = tested_.checker().alphabet(how_.within, 200);
  std::size_t a = 0;
  while (pair > a) pair -= ++a;  // pairs (a, b) with b <= a
  chosen.calls = {{first[a]}, {second[pair]}};
  return chosen;
}

void explorer::prefill(const std::vector<call>& beginning) {
  std::unique_ptr<world> fresh = tested_.open(machine_.memory().bytes(), true);
  const abstract_state nothing = fresh->observe();
  history_.clear();
  for (const call& what : beginning) {
    const std::size_t number = history_.invoke(0, what);
    history_.respond(number, fresh->apply(what));
  }
  check_state(*fresh, {&nothing, &history_}, scene_.initial, "before any crash", false);
  const std::optional<call> closing = tested_.checker().closing();
  // One thread at a time reads the data that a close has saved, and the others wait for it.
  const bool a_thread_stops = how_.parked_one_in != 0;
  if (scene_.closed || (closing && !a_thread_stops)) {
    fresh->close();
  } else if (closing) {
    static_cast<void>(fresh->apply(*closing));
  }
}

void explorer::open_for_execution() {
  fail_if(machine_.run_alone([&] { world_ = open(); }), "when opened, the subject");
}

std::unique_ptr<world> explorer::open() {
  const std::span<std::byte> bytes = machine_.memory().bytes();
  return tested_.open(bytes, scene_.begins == start::nothing && tested_.exists(bytes) == false);
}

void explorer::run_thread(unsigned thread) {
  for (const call& what : scene_.calls[thread]) {
    if (counts_.found) return;
    crash_point();
    machine_.begin_operation(how_.operation_steps);
    const std::size_t number = history_.invoke(thread, what);
    const outcome result = world_->apply(what);
    crash_point();
    history_.respond(number, result);
  }
}

void explorer::execute(std::uint64_t number, strategy& order) {
  execution_ = number;
  stores_outside_ = 0;
  history_.clear();
  incarnations_.assign(1, {&scene_.initial, &history_});
  memory& media = machine_.memory();
  const restored kept(tested_);
  media.enter_checkpoint();
  armed_ = number == 0;  // every execution of a scenario begins with the same opening
  open_for_execution();
  incarnations_.front().opened = world_.get();
  armed_ = true;
  random source(scene_.seed, number + 1);
  machine_.prepare_decisions(source, scene_.horizon);
  park_a_thread(source);
  wrecked_ = false;
  if (!counts_.found) {
    const auto body = [this](unsigned t) { run_thread(t); };
    const fault ended = machine_.run_threads(how_.within.threads, body, order);
    wrecked_ = ended.has_value();
    fail_if(ended, "while threads ran,");
  }
  if (machine_.parked_one()) ++counts_.parked;
  if (!counts_.found) finish_execution(number);
  armed_ = false;
  if (wrecked_) static_cast<void>(world_.release());
  world_.reset();
  media.leave();
  ++counts_.executions;
}

/// Decides whether a thread stops for good in the next execution, and where. After a clean close no
/// thread does, because the others wait for the thread that reads the saved data.
void explorer::park_a_thread(random& source) {
  machine_.park(std::nullopt, 0);
  if (scene_.closed || how_.parked_one_in == 0 || !source.one_in(how_.parked_one_in)) return;
  const auto at = static_cast<std::uint32_t>(1 + source.below(scene_.horizon));
  machine_.park(static_cast<unsigned>(source.below(how_.within.threads)), at);
}

void explorer::finish_execution(std::uint64_t number) {
  crash_point();
  if (number % 16 == 0) check_seam(true);
  abstract_state state;
  fail_if(machine_.run_alone([&] {
    check_state(*world_, incarnations_.front(), state, "without any crash", false);
    const bool closes = how_.close_at_end && number % 4 == 0 && !machine_.parked_one();
    if (!closes || counts_.found) return;
    const std::optional<call> closing = tested_.checker().closing();
    const std::size_t closed = closing ? history_.invoke(0, *closing) : 0;
    world_->close();
    if (closing) history_.respond(closed, {true});
  }),
          "at the end of an execution, the subject");
  crash_point();
}

void explorer::check_seam(bool everywhere) {
  const memory& media = machine_.memory();
  const void* const foreign_store =
      everywhere ? media.foreign_store_anywhere() : media.foreign_store_in_touched_lines();
  if (foreign_store == nullptr) return;
  std::ostringstream out;
  out << "a store bypassed the domain: the word at offset "
      << static_cast<const std::byte*>(foreign_store) - media.bytes().data()
      << " of the memory changed without it";
  fail(out.str());
}

bool explorer::time_is_up() const {
  if (how_.max_executions != 0 && counts_.executions >= how_.max_executions) return true;
  return how_.seconds > 0 && now() - started_ >= how_.seconds;
}

std::unique_ptr<strategy> explorer::chosen_strategy() const {
  return how_.strategy == strategy_kind::random ? random_strategy() : pct_strategy(how_.pct_depth);
}

report explorer::run() {
  started_ = now();
  counts_ = {};
  late_ = false;
  if (how_.strategy == strategy_kind::exhaustive) {
    explore_everything();
  } else {
    explore_at_random();
  }
  if (counts_.found && how_.minimise) minimise();
  return finish_report();
}

void explorer::explore_at_random() {
  const std::unique_ptr<strategy> order = chosen_strategy();
  for (std::uint64_t seed = how_.seed; !counts_.found && !time_is_up(); ++seed) {
    if (how_.only_one_scenario && seed != how_.seed) break;
    if (!build_scenario(seed)) break;
    for (std::uint64_t e = 0; e < executions_of_a_scenario(how_); ++e) {
      execute(e, *order);
      if (e == 0) scene_.horizon = static_cast<std::uint32_t>(machine_.decisions().size());
      if (counts_.found || time_is_up()) break;
    }
  }
}

/// Scenarios are numbered from 0. The seed is the number of the first.
void explorer::explore_everything() {
  machine_.watch_states(how_.by_states);
  exhaustive_strategy order =
      how_.by_states
          ? exhaustive_strategy([this] { return machine_.state_hash() + history_.hash(); })
          : exhaustive_strategy(how_.preemptions, how_.reduced);
  everything_ = &order;
  const std::uint64_t end = small_scenarios();
  std::uint64_t number = how_.seed;
  while (number < end && build_scenario(number) && explore_all_interleavings(order)) {
    ++number;
    if (how_.only_one_scenario) break;
  }
  everything_ = nullptr;
  counts_.exhausted = number >= end && how_.seed == 0 && !counts_.found;
}

/// Returns false if a failure was found or time is up. If threads share a line that was not
/// recorded as shared, it explores the interleavings again and skips known images.
bool explorer::explore_all_interleavings(exhaustive_strategy& order) {
  machine_.forget_footprints();
  order.restart();
  std::uint64_t number = 0;  // the first execution of a scenario is closed under crash points
  for (bool more = true; more;) {
    execute(std::exchange(number, 1), order);
    if (counts_.found || time_is_up() || late_) return false;
    more = order.advance();
    if (!order.looks_ahead() || !machine_.learn_footprints()) continue;
    order.restart();
    more = true;
  }
  return true;
}

report explorer::replay(const coordinates& where) {
  started_ = now();
  counts_ = {};
  late_ = false;
  const std::unique_ptr<strategy> order = chosen_strategy();
  if (build_scenario(where.seed, where.without)) {
    if (where.execution > 0) {  // the first execution of a scenario measures its length
      execute(0, *order);
      scene_.horizon = static_cast<std::uint32_t>(machine_.decisions().size());
      if (!counts_.found) images_->clear();
    }
    if (!counts_.found) {
      const auto given = where.decisions ? replay_strategy(*where.decisions) : chosen_strategy();
      execute(where.execution, *given);
    }
  }
  return finish_report();
}

report explorer::finish_report() {
  counts_.structure = tested_.structure();
  counts_.policy = tested_.policy();
  counts_.model = to_text(how_.model);
  counts_.seconds = now() - started_;
  counts_.forced_write_backs = machine_.memory().forced_write_backs();
  counts_.sites = sites().passed().size();
  return counts_;
}

std::vector<mutant> try_mutants(subject& tested, const options& how,
                                const std::vector<place>& places) {
  std::vector<mutant> results;
  options each = how;
  each.minimise = false;
  for (const place& at : places) {
    for (const defect what : {defect::missing, defect::late}) {
      each.mutated = mutation{at, what};
      const report done = explorer(tested, each).run();
      results.push_back({*each.mutated, done.found.has_value(), done.executions, done.seconds,
                         done.found ? done.found->what : std::string()});
    }
  }
  return results;
}

}  // namespace outlast::verify
